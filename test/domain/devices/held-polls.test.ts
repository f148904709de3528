import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { TurnQueue } from '../../../src/concurrency/turn-queue.ts';
import { createHeldPolls, type HeldPoll, type HeldPollBounds } from '../../../src/domain/devices/held-polls.ts';
import type { FleetListener } from '../../../src/domain/fleet/change-notices.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { runs } from '../../support/run/effort.ts';

const SMALL: HeldPollBounds = { pollsMax: 12, perCredentialMax: 2, perAccountMin: 3 };

/** The places of a replica, with the changes that a test makes, and the polls that ended early by their bound. */
function placesWith(bounds?: HeldPollBounds) {
  const listeners: FleetListener[] = [];
  const ended: Record<string, number> = { credential: 0, account: 0, replica: 0 };
  const stopping = new AbortController();
  const polls = createHeldPolls(
    {
      memory: { onChange: (listener) => (listeners.push(listener), () => undefined) },
      turns: new TurnQueue(Number.POSITIVE_INFINITY),
      metrics: { heldPollEnded: (bound) => (ended[bound] = (ended[bound] ?? 0) + 1) },
      stopping: stopping.signal,
    },
    bounds,
  );
  const change = (accountId: string, appId?: string): void => {
    for (const listener of listeners) listener(accountId, appId);
  };
  const hold = (accountId: string, id: string): HeldPoll | undefined => polls.hold({ accountId, id });
  return { polls, hold, change, ended, stop: () => stopping.abort() };
}

async function isWoken(poll: HeldPoll | undefined): Promise<boolean> {
  let woken = false;
  void poll?.changed().then(() => (woken = true));
  await setImmediate();
  return woken;
}

test('the third poll of a credential ends the oldest, and no other', () => {
  const { polls, hold, ended } = placesWith(SMALL);
  const other = hold('a', 'app2');
  const [first, second, third] = [hold('a', 'app1'), hold('a', 'app1'), hold('a', 'app1')];
  expect([first, second, third, other].map((poll) => poll?.isDisplaced)).toEqual([true, false, false, false]);
  expect([first, second].map((poll) => poll?.hasEnded)).toEqual([true, false]);
  expect([polls.count, ended['credential']]).toEqual([3, 1]);
});

test('above half of all places the largest account gives up its oldest, down to what none is cut below', () => {
  const { polls, hold, ended } = placesWith(SMALL);
  const large = ['1', '2', '3', '4', '5'].map((app) => hold('large', app));
  const middle = hold('middle', 'm');
  expect([polls.count, large.filter((poll) => poll?.hasEnded).length]).toEqual([6, 0]);
  const newcomers = ['x', 'y', 'z'].map((account) => hold(account, account));
  expect(large.map((poll) => poll?.isDisplaced)).toEqual([true, true, false, false, false]);
  expect([middle, ...newcomers].map((poll) => poll?.hasEnded)).toEqual([false, false, false, false]);
  expect([polls.count, ended['account']]).toEqual([7, 2]);
});

test('a large account that comes again gives up its own', () => {
  const { hold } = placesWith(SMALL);
  const own = ['1', '2', '3', '4', '5', '6'].map((app) => hold('large', app));
  const further = hold('large', '7');
  expect([...own, further].map((poll) => poll?.hasEnded)).toEqual([true, false, false, false, false, false, false]);
});

test('where all places are taken by accounts that none cuts, a further poll is not held; a place that is left is free', () => {
  const { polls, hold, ended } = placesWith(SMALL);
  const all = ['a', 'b', 'c', 'd'].flatMap((account) => ['1', '2', '3'].map((app) => hold(account, account + app)));
  expect([polls.count, all.filter((poll) => poll?.hasEnded).length]).toEqual([12, 0]);
  expect(hold('e', 'e1')).toBeUndefined();
  expect([polls.count, ended['replica']]).toEqual([12, 1]);
  all[0]?.[Symbol.dispose]();
  all[0]?.[Symbol.dispose]();
  expect([polls.count, hold('e', 'e1')?.hasEnded]).toEqual([11, false]);
});

test('a change wakes the polls of its app, or of the whole account; one before `look` is forgotten', async () => {
  const { hold, change } = placesWith(SMALL);
  const [one, other, stranger] = [hold('a', '1'), hold('a', '2'), hold('b', '3')];
  change('a', '1');
  expect([await isWoken(one), await isWoken(other), await isWoken(stranger)]).toEqual([true, false, false]);
  one?.look();
  expect(await isWoken(one)).toBe(false);
  change('a');
  expect([await isWoken(one), await isWoken(other), await isWoken(stranger)]).toEqual([true, true, false]);
  expect([one, other].map((poll) => poll?.hasEnded)).toEqual([false, false]);
});

test('the end of the process ends all, and none is held after it', () => {
  const { hold, stop } = placesWith(SMALL);
  const polls = [hold('a', '1'), hold('b', '2')];
  stop();
  expect(polls.map((poll) => [poll?.hasEnded, poll?.isDisplaced])).toEqual([
    [true, false],
    [true, false],
  ]);
  expect(hold('a', '1')).toBeUndefined();
});

test('one account of the largest size shuts out nobody', () => {
  const { polls, hold } = placesWith();
  for (let n = 0; n < LIMITS.heldPollsMax; n += 1) hold('attacker', `app${n >> 1}`);
  expect(polls.count).toBe(LIMITS.heldPollsMax / 2);
  const others = Array.from({ length: 10_000 }, (_, n) => hold(`account${n}`, `device${n}`));
  expect(others.filter((poll) => poll === undefined || poll.hasEnded)).toEqual([]);
  expect(polls.count).toBe(LIMITS.heldPollsMax / 2);
});

test('whoever comes and goes, the bounds hold, and only the largest account is cut, never below its due', () => {
  const account = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  const event = fc.oneof(
    { weight: 4, arbitrary: fc.record({ account, app: fc.integer({ min: 0, max: 4 }) }) },
    { weight: 1, arbitrary: fc.record({ leaves: fc.nat() }) },
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 120 }), (events) => {
      const { polls, hold } = placesWith(SMALL);
      /** The polls that are held, oldest first. */
      let held: { readonly account: string; readonly app: string; readonly poll: HeldPoll }[] = [];
      const of = (name: string): number => held.filter((one) => one.account === name).length;
      for (const next of events) {
        if ('leaves' in next) {
          const gone = held[next.leaves % Math.max(1, held.length)];
          gone?.poll[Symbol.dispose]();
          held = held.filter((one) => one !== gone);
        } else {
          const [app, before] = [`${next.account}${next.app}`, held];
          const poll = hold(next.account, app);
          if (poll) held = [...held, { account: next.account, app, poll }];
          const cut = held.filter((one) => one.poll.hasEnded);
          const own = before.filter((one) => one.app === app);
          const sizes = new Map(held.map((one) => [one.account, of(one.account)]));
          const overDue = own.length === SMALL.perCredentialMax ? own[0] : undefined;
          if (overDue) {
            expect(cut).toContain(overDue);
            sizes.set(next.account, of(next.account) - 1);
          }
          for (const one of cut.filter((gone) => gone !== overDue)) {
            expect(held.length - (overDue ? 1 : 0)).toBeGreaterThan(SMALL.pollsMax / 2);
            expect(sizes.get(one.account)).toBe(Math.max(...sizes.values()));
            expect(sizes.get(one.account)).toBeGreaterThan(SMALL.perAccountMin);
            expect(held.find((older) => older.account === one.account && older !== overDue)).toBe(one);
          }
          expect(cut.length).toBeLessThanOrEqual(overDue ? 2 : 1);
          if (!poll) {
            expect(before).toHaveLength(SMALL.pollsMax);
            expect(Math.max(0, ...sizes.values())).toBeLessThanOrEqual(SMALL.perAccountMin);
          }
          held = held.filter((one) => !one.poll.hasEnded);
        }
        expect(polls.count).toBe(held.length);
        expect(held.length).toBeLessThanOrEqual(SMALL.pollsMax);
        const perApp = new Map<string, number>();
        for (const { app } of held) perApp.set(app, (perApp.get(app) ?? 0) + 1);
        expect(Math.max(0, ...perApp.values())).toBeLessThanOrEqual(SMALL.perCredentialMax);
      }
    }),
    { numRuns: runs(300) },
  );
});
