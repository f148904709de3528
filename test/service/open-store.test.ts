import { expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { openWithRetry } from '../../src/service/open-store.ts';
import { StoreUnavailable, type Store, type StoreTrouble } from '../../src/store/port.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { FakeClock } from '../support/time/fake-clock.ts';

/** Opens with the store, or with the trouble of each try in turn and then of the last again and again. */
function opening(troubles: readonly (StoreTrouble | Error)[], store?: Store) {
  const left = [...troubles];
  const opened = {
    tries: 0,
    open: (): Promise<Store> => {
      opened.tries += 1;
      const next = left.length > 1 || store ? left.shift() : left[0];
      if (next === undefined && store) return Promise.resolve(store);
      return Promise.reject(next instanceof Error ? next : new StoreUnavailable(next ?? 'failed', `${next}`));
    },
  };
  return opened;
}

/** Time that passes by itself where it is slept. */
class PassingClock extends FakeClock {
  override async sleep(ms: number): Promise<void> {
    this.advance(ms);
  }
}

const log = createLog('silent');

test('a store that answers after a while is opened', async () => {
  await using store = await openSqliteStore(':memory:');
  const late = opening(['unreachable', 'timeout', 'unreachable'], store);
  expect(await openWithRetry(late.open, { clock: new PassingClock(), log })).toBe(store);
  expect(late.tries).toBe(4);
});

test('one that never does is given up after half a minute, with its own words', async () => {
  const clock = new PassingClock();
  const startedAt = clock.monotonic();
  const never = opening(['unreachable']);
  await expect(openWithRetry(never.open, { clock, log })).rejects.toThrow('unreachable');
  expect([never.tries, clock.monotonic() - startedAt]).toEqual([31, 30_000]);
});

test.each<[string, StoreTrouble | Error]>([
  ['that refuses who comes', 'refused'],
  ['that is full', 'full'],
  ['that is there and cannot be used', new Error('too old')],
])('one %s is not waited for', async (_, trouble) => {
  const refused = opening([trouble]);
  await expect(openWithRetry(refused.open, { clock: new PassingClock(), log })).rejects.toThrow();
  expect(refused.tries).toBe(1);
});

test('a process that is asked to end opens no store', async () => {
  const never = opening(['unreachable']);
  const signal = AbortSignal.abort();
  await expect(openWithRetry(never.open, { clock: new PassingClock(), log, signal })).rejects.toThrow();
  expect(never.tries).toBe(1);
});
