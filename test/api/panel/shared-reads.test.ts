import { expect, test } from 'vitest';
import { createSharedReads } from '../../../src/api/panel/live/shared-reads.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/** A read whose outcome the test gives. */
function readable() {
  const reads: PromiseWithResolvers<{ readonly number: number }>[] = [];
  return {
    reads,
    read: () => {
      const next = Promise.withResolvers<{ readonly number: number }>();
      reads.push(next);
      return next.promise;
    },
  };
}

test('those who ask at once share a read, and those who ask soon get its outcome', async () => {
  const clock = new FakeClock();
  const shared = createSharedReads({ clock });
  const { reads, read } = readable();
  const asked = [shared.get('one', 'rollout', read), shared.get('one', 'rollout', read)];
  reads[0]?.resolve({ number: 1 });
  expect(await Promise.all(asked)).toEqual([{ number: 1 }, { number: 1 }]);
  clock.advance(LIMITS.watchedReadsEveryMs - 1);
  expect(await shared.get('one', 'rollout', read)).toEqual({ number: 1 });
  expect(reads.length).toBe(1);
  clock.advance(1);
  void shared.get('one', 'rollout', read);
  expect(reads.length).toBe(2);
});

test('a read that takes long is shared until it has ended', async () => {
  const clock = new FakeClock();
  const shared = createSharedReads({ clock });
  const { reads, read } = readable();
  const first = shared.get('one', 'usage', read);
  clock.advance(2 * LIMITS.watchedReadsEveryMs);
  const second = shared.get('one', 'usage', read);
  reads[0]?.resolve({ number: 1 });
  expect([await first, await second]).toEqual([{ number: 1 }, { number: 1 }]);
  void shared.get('one', 'usage', read);
  expect(reads.length).toBe(2);
});

test('accounts, and what is read of them, are apart', () => {
  const shared = createSharedReads({ clock: new FakeClock() });
  const { reads, read } = readable();
  void shared.get('one', 'rollout', read);
  void shared.get('one', 'reviews', read);
  void shared.get('other', 'rollout', read);
  expect(reads.length).toBe(3);
});

test('a failure is told to those who wait for it, and is not kept', async () => {
  const shared = createSharedReads({ clock: new FakeClock() });
  const { reads, read } = readable();
  const asked = [shared.get('one', 'rollout', read), shared.get('one', 'rollout', read)];
  reads[0]?.reject(new Error('the store is away'));
  const outcomes = await Promise.allSettled(asked);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const again = shared.get('one', 'rollout', read);
  reads[1]?.resolve({ number: 2 });
  expect(await again).toEqual({ number: 2 });
});

test('after a change it is read anew, also where a read is under way that may not have seen it', async () => {
  const shared = createSharedReads({ clock: new FakeClock() });
  const { reads, read } = readable();
  const before = shared.get('one', 'rollout', read);
  shared.forget('one');
  const after = shared.get('one', 'rollout', read);
  reads[1]?.resolve({ number: 2 });
  reads[0]?.resolve({ number: 1 });
  expect([await before, await after]).toEqual([{ number: 1 }, { number: 2 }]);
  expect(await shared.get('one', 'rollout', read)).toEqual({ number: 2 });
});

test('the account that was asked for longest ago is forgotten first', async () => {
  const shared = createSharedReads({ clock: new FakeClock() });
  let reads = 0;
  const ask = (account: string): Promise<object> =>
    shared.get(account, 'rollout', async () => {
      reads += 1;
      return {};
    });
  for (let number = 0; number < 500; number += 1) await ask(`account ${number}`);
  await ask('account 0');
  await ask('one more');
  expect(reads).toBe(501);
  await ask('account 0');
  expect(reads).toBe(501);
  await ask('account 1');
  expect(reads).toBe(502);
});
