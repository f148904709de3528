import { expect, test } from 'vitest';
import { coalescedRead } from '../../../src/store/watch-cache/coalesced-read.ts';
import { DeferredReads } from '../../../src/store/watch-cache/deferred-read.ts';
import { until } from '../../support/time/until.ts';

const HOUR_MS = 3_600_000;

/** Reads that a test answers, one after the other. */
function deferredReads(patienceMs: number, max: number) {
  const reads: PromiseWithResolvers<number>[] = [];
  const deferred = new DeferredReads<number>(patienceMs, max);
  const ask = coalescedRead(() => {
    const read = Promise.withResolvers<number>();
    reads.push(read);
    return deferred.join(read.promise);
  });
  return { reads, ask, wait: () => deferred.wait(ask) };
}

test('a deferred read begins nothing, and gets the answer of the next read that begins', async () => {
  const { reads, ask, wait } = deferredReads(HOUR_MS, 100);
  const before = ask();
  const waiting = [wait(), wait(), wait()];
  expect(reads).toHaveLength(1);
  reads[0]?.resolve(1);
  expect(await before).toBe(1);
  const later = ask();
  await until(() => reads.length === 2);
  reads[1]?.resolve(2);
  expect([await later, ...(await Promise.all(waiting))]).toEqual([2, 2, 2, 2]);
});

test('a read that began before it does not answer it, though it ends after it came', async () => {
  const { reads, ask, wait } = deferredReads(HOUR_MS, 100);
  const [before, waiting, next] = [ask(), wait(), ask()];
  reads[0]?.resolve(1);
  expect(await before).toBe(1);
  await until(() => reads.length === 2);
  reads[1]?.resolve(2);
  expect([await waiting, await next]).toEqual([2, 2]);
});

test('deferred reads fail as the read does that answers them', async () => {
  const { reads, ask, wait } = deferredReads(HOUR_MS, 100);
  const waiting = wait();
  const asked = ask();
  reads[0]?.reject(new Error('down'));
  await expect(asked).rejects.toThrow('down');
  await expect(waiting).rejects.toThrow('down');
});

test('when nobody reads they begin one read for all of them', async () => {
  const { reads, wait } = deferredReads(1, 100);
  const waiting = Promise.all([wait(), wait()]);
  await until(() => reads.length > 0);
  reads[0]?.resolve(7);
  expect(await waiting).toEqual([7, 7]);
  expect(reads).toHaveLength(1);
});

test('when too many wait they begin a read, and a caller that comes meanwhile waits for the one after', async () => {
  const { reads, ask, wait } = deferredReads(HOUR_MS, 3);
  const full = [wait(), wait()];
  expect(reads).toHaveLength(0);
  full.push(wait());
  expect(reads).toHaveLength(1);
  const late = wait();
  reads[0]?.resolve(1);
  expect(await Promise.all(full)).toEqual([1, 1, 1]);
  const asked = ask();
  await until(() => reads.length === 2);
  reads[1]?.resolve(2);
  expect([await late, await asked]).toEqual([2, 2]);
});
