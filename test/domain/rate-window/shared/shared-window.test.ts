import { describe, expect, test } from 'vitest';
import { createClockInterval } from '../../../../src/domain/rate-window/shared/clock-interval.ts';
import { decide } from '../../../../src/domain/rate-window/shared/decide.ts';
import {
  NO_LEASES,
  reconciled,
  usableUnits,
  type OwnLease,
} from '../../../../src/domain/rate-window/shared/own-lease.ts';
import { OwnUsage } from '../../../../src/domain/rate-window/shared/own-usage.ts';
import {
  NO_WINDOW,
  putWindow,
  readWindow,
  readWindowOrFull,
  type WindowRecord,
} from '../../../../src/domain/rate-window/shared/record.ts';
import { WINDOW_RULES as rules } from '../../../../src/domain/rate-window/shared/rules.ts';
import type { Situation } from '../../../../src/domain/rate-window/shared/situation.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const NOW = Date.UTC(2026, 5, 1);
const now = { earliest: NOW, latest: NOW };
const base: Situation = {
  record: NO_WINDOW,
  replicaId: 'me',
  leases: NO_LEASES,
  own: { live: 0, recent: 0, byBucket: new Map() },
  now,
  monotonic: NOW,
  waiting: 1,
  recallDeadlines: new Map(),
  mustReturn: false,
  isStopping: false,
  writes: 0,
  chargeMs: 500,
  yieldsUntil: 0,
};
const spent = (units: number, ageMs = 1000): WindowRecord['spent'] => [{ at: NOW - ageMs, units }];
const allotment = (units: number, until = NOW + 10_000) => ({ nonce: 7, units, until, isAllotment: true });
const own = (lease: Partial<OwnLease> = {}): OwnLease => ({
  ...allotment(100),
  usedUntil: NOW + 10_000,
  spends: new Map([[NOW - 1000, 40]]),
  spent: 40,
  ...lease,
});
/** A record with these units in the allotments of so many other replicas. */
const allotted = (units: number, replicas = 5): WindowRecord => ({
  ...NO_WINDOW,
  leases: Object.fromEntries(Array.from({ length: replicas }, (_, n) => [`other${n}`, allotment(units / replicas)])),
});
const sharedByTen = allotted(0, 10);

describe('what a replica does next', () => {
  test.each<[string, Partial<Situation>, object]>([
    ['a fresh window gives an allotment', {}, { act: 'commit', take: { units: 40, isAllotment: true } }],
    [
      'a window that is shared gives a smaller one',
      { record: sharedByTen },
      { act: 'commit', take: { units: 18, isAllotment: true } },
    ],
    [
      'recent use calls for more',
      { own: { live: 80, recent: 80, byBucket: new Map() } },
      { act: 'commit', take: { units: 120, isAllotment: true } },
    ],
    ['the second commit within a minute takes more', { writes: 1 }, { act: 'commit', take: { units: 160 } }],
    ['the third one takes as much as an allotment may have', { writes: 2 }, { act: 'commit', take: { units: 200 } }],
    [
      'a first allotment leaves some of what is free',
      { record: allotted(550) },
      { act: 'commit', take: { units: 30 } },
    ],
    [
      'a scant allotment recalls another one at once',
      { record: allotted(580, 10), writes: 1 },
      { act: 'commit', take: { units: 20, isAllotment: true, demand: 180 }, record: { recalled: ['other0/7'] } },
    ],
    [
      'for many that wait, as many allotments are recalled as may bring twice what is lacking',
      { record: allotted(580, 4), waiting: 120, writes: 1 },
      { act: 'commit', take: { units: 20, demand: 180 }, record: { recalled: ['other0/7', 'other1/7'] } },
    ],
    [
      'while much is left, too, no answer counts as spent in the end',
      { record: allotted(600, 1), recallDeadlines: new Map([['other0/7', NOW]]) },
      { act: 'refuse' },
    ],
    ['the own lease serves at once', { leases: { lease: own(), unanswered: [] } }, { act: 'serve', units: 1 }],
    [
      'it does not while its settlement is unanswered',
      { leases: { lease: own(), unanswered: [{ lease: own({ nonce: 8 }), expects: 3 }] } },
      { act: 'commit' },
    ],
    [
      'nor when it has ended',
      { leases: { lease: own({ usedUntil: NOW }), unanswered: [] } },
      { act: 'commit', take: { isAllotment: true } },
    ],
    [
      'with 200 left only those that wait are charged',
      { record: { ...NO_WINDOW, spent: spent(400) }, waiting: 3 },
      { act: 'commit', take: { units: 3, isAllotment: false } },
    ],
    ['with none left all are refused', { record: { ...NO_WINDOW, spent: spent(600) } }, { act: 'refuse' }],
    [
      'what this replica admitted counts by its own memory, for no longer than 60 s',
      {
        record: { ...NO_WINDOW, spent: spent(600, 60_500) },
        own: { live: 500, recent: 0, byBucket: new Map([[NOW - 60_500, 600]]) },
      },
      { act: 'commit', take: { units: 1, isAllotment: false } },
    ],
    [
      'and no shorter',
      {
        record: { ...NO_WINDOW, spent: spent(600, 60_500) },
        own: { live: 600, recent: 0, byBucket: new Map([[NOW - 60_500, 600]]) },
      },
      { act: 'refuse' },
    ],
    ['a bucket counts for 61.25 s', { record: { ...NO_WINDOW, spent: spent(600, 61_249) } }, { act: 'refuse' }],
    ['and no longer', { record: { ...NO_WINDOW, spent: spent(600, 61_250) } }, { act: 'commit' }],
    [
      'the allotments of others are recalled',
      { record: { ...NO_WINDOW, spent: spent(400), leases: { other: allotment(200) } } },
      { act: 'commit', take: { units: 0 }, record: { recalled: ['other/7'] } },
    ],
    [
      'a recalled allotment is waited for',
      {
        record: { ...NO_WINDOW, spent: spent(400), leases: { other: allotment(200) } },
        recallDeadlines: new Map([['other/7', NOW + 9]]),
      },
      { act: 'wait', until: NOW + 9 },
    ],
    [
      'but not for ever',
      {
        record: { ...NO_WINDOW, spent: spent(400), leases: { other: allotment(200) } },
        recallDeadlines: new Map([['other/7', NOW]]),
      },
      { act: 'refuse' },
    ],
    [
      'an allotment that has ended is recalled, too: its holder may still report what it did not spend',
      { record: { ...NO_WINDOW, spent: spent(400), leases: { other: allotment(200, NOW - 1000) } } },
      { act: 'commit', record: { recalled: ['other/7'] } },
    ],
    [
      'while holders are asked only they write, even where something is free',
      {
        record: { ...NO_WINDOW, spent: spent(400), leases: { other: allotment(100) } },
        recallDeadlines: new Map([['other/7', NOW + 9]]),
      },
      { act: 'wait', until: NOW + 9 },
    ],
    [
      'they answer before they wait for others themselves',
      {
        mustReturn: true,
        leases: { lease: own({ usedUntil: NOW }), unanswered: [] },
        record: { ...NO_WINDOW, spent: spent(360), leases: { me: allotment(100), other: allotment(140) } },
        recallDeadlines: new Map([['other/7', NOW + 9]]),
      },
      { act: 'commit', take: { units: 0 }, refuses: 0, record: { spent: spent(400) } },
    ],
    [
      'what was not returned in time stands in the way of nothing that is free',
      {
        record: { ...NO_WINDOW, spent: spent(400), leases: { other: allotment(100) } },
        recallDeadlines: new Map([['other/7', NOW]]),
      },
      { act: 'commit', take: { units: 1 } },
    ],
    [
      'a replica that has charged lets others charge first',
      { record: { ...NO_WINDOW, spent: spent(400) }, yieldsUntil: NOW + 9 },
      { act: 'wait', until: NOW + 9 },
    ],
    [
      'but it refuses at once',
      { record: { ...NO_WINDOW, spent: spent(600) }, yieldsUntil: NOW + 9 },
      { act: 'refuse' },
    ],
    [
      'requests for which nothing is left are refused with the same commit',
      { record: { ...NO_WINDOW, spent: spent(590) }, waiting: 30 },
      { act: 'commit', take: { units: 10 }, refuses: 20 },
    ],
    [
      'they are not where others may return something',
      { record: { ...NO_WINDOW, spent: spent(490), leases: { other: allotment(100) } }, waiting: 30 },
      { act: 'commit', take: { units: 10 }, refuses: 0 },
    ],
    [
      'where more is spent than there is, 0 units are taken',
      {
        record: { ...NO_WINDOW, spent: spent(590), leases: { other: allotment(5) } },
        leases: { lease: own({ units: 40, usedUntil: NOW }), unanswered: [] },
      },
      { act: 'commit', take: { units: 0 }, record: { recalled: ['other/7'] } },
    ],
    [
      'an allotment whose holder is gone counts for 61 s after its end',
      {
        record: { ...NO_WINDOW, spent: spent(400), leases: { other: allotment(200, NOW - 60_999) } },
        recallDeadlines: new Map([['other/7', NOW]]),
      },
      { act: 'refuse' },
    ],
    [
      'and no longer',
      { record: { ...NO_WINDOW, spent: spent(400), leases: { other: allotment(200, NOW - 61_000) } } },
      { act: 'commit', take: { units: 1 } },
    ],
    [
      'units that a wrong clock wrote ahead are corrected, to count for a minute from now',
      { record: { ...NO_WINDOW, spent: spent(600, -3_600_000) } },
      { act: 'commit', take: { units: 0 }, record: { spent: spent(600, 0) } },
    ],
    [
      'an allotment that was used is renewed when it is settled',
      { waiting: 0, leases: { lease: own(), unanswered: [] } },
      { act: 'commit', take: { units: 40, isAllotment: true }, record: { spent: spent(40) } },
    ],
    [
      'of a recalled allotment a part is kept, and the rest is transferred to a replica with a demand',
      {
        waiting: 0,
        mustReturn: true,
        leases: { lease: own(), unanswered: [] },
        record: { ...NO_WINDOW, leases: { me: allotment(100), other: { ...allotment(0), demand: 200 } } },
      },
      {
        act: 'commit',
        take: { units: 30, isAllotment: true },
        record: { spent: spent(40), leases: { other: { units: 200, demand: 0 } } },
      },
    ],
    [
      'with 200 left all of it is returned',
      {
        waiting: 0,
        mustReturn: true,
        leases: { lease: own(), unanswered: [] },
        record: {
          ...NO_WINDOW,
          spent: spent(360),
          leases: { me: allotment(100), other: { ...allotment(0), demand: 200 } },
        },
      },
      { act: 'commit', take: { units: 0 }, record: { spent: spent(400), leases: { other: { units: 0 } } } },
    ],
    [
      'and before a stop, too',
      { waiting: 0, isStopping: true, leases: { lease: own(), unanswered: [] } },
      { act: 'commit', take: { units: 0 }, record: { spent: spent(40) } },
    ],
  ])('%s', (_, change, decision) => {
    expect(decide({ ...base, ...change }, rules)).toMatchObject(decision);
  });
});

test('after a lost answer the record tells whether the commit happened', () => {
  const [before, after] = [own({ nonce: 7 }), own({ nonce: 8 })];
  const part = { lease: before, unanswered: [{ lease: after, expects: 3 }] };
  const known = (nonce: number, revision: number) => ({
    record: { ...NO_WINDOW, leases: { me: { ...allotment(100), nonce } } },
    revision,
  });
  expect(reconciled(part, known(8, 4), 'me'), 'it did').toEqual({ lease: after, unanswered: [] });
  expect(reconciled(part, known(7, 3), 'me'), 'it may yet').toEqual(part);
  expect(reconciled(part, known(7, 4), 'me'), 'it never will').toEqual({ lease: before, unanswered: [] });
  const more = { record: { ...NO_WINDOW, leases: { me: { ...allotment(130), nonce: 7 } } }, revision: 4 };
  expect(reconciled({ lease: before, unanswered: [] }, more, 'me').lease?.units, 'others added to it').toBe(130);
  const foreign = reconciled(part, known(9, 4), 'me');
  expect(usableUnits(foreign, now), 'a record that does not know the lease').toBe(0);
});

test('a record survives being written and read; an unreadable one counts as full', () => {
  const record = {
    spent: [...spent(3, 2000), ...spent(5)],
    leases: { other: { ...allotment(20), demand: 5 } },
    recalled: ['other/7'],
  };
  const { put: key, value } = putWindow('a', record);
  expect(JSON.parse(value), 'the stored names, which other versions read').toEqual({
    from: NOW - 2000,
    spent: [
      [0, 3],
      [1000, 5],
    ],
    holds: { other: { nonce: 7, units: 20, until: NOW + 10_000, slice: true, wants: 5 } },
    wanted: ['other/7'],
  });
  expect(readWindow({ key, value, revision: 1 })).toEqual(record);
  const damaged = readWindowOrFull({ key, value: '{"instants":[]}', revision: 1 }, rules);
  expect(decide({ ...base, record: damaged }, rules), 'corrected, to count from now').toMatchObject({
    act: 'commit',
    take: { units: 0 },
    record: { spent: spent(600, 0) },
  });
});

test('the clock interval is wide for a minute after a jump or a standstill: others count longer, the own lease ends sooner', () => {
  const clock = new FakeClock(NOW);
  const interval = createClockInterval(clock);
  expect(interval()).toEqual(now);
  clock.jump(3_600_000);
  expect(interval()).toEqual({ earliest: NOW, latest: NOW + 3_600_000 });
  clock.jump(-7_200_000);
  expect(interval()).toEqual({ earliest: NOW - 3_600_000, latest: NOW + 3_600_000 });
  for (let second = 0; second < 80; second += 1) {
    clock.advance(1000);
    interval();
  }
  expect(interval()).toEqual({ earliest: clock.now(), latest: clock.now() });
});

describe('the units that a replica admitted itself', () => {
  const at = (ms: number) => ({ earliest: NOW + ms, latest: NOW + ms });
  const bucket = NOW + 250;

  test('each is live for 60 s, and known as its own for as long as the record counts it', () => {
    const units = new OwnUsage(rules);
    units.admitted(at(300));
    units.admitted(at(400));
    expect(units.count(at(400))).toEqual({ live: 2, recent: 2, byBucket: new Map([[bucket, 2]]) });
    expect(units.freesAt(at(400))).toBe(NOW + 60_300);
    expect(units.live(at(60_299))).toBe(2);
    expect(units.live(at(60_300))).toBe(1);
    expect(units.count(at(61_499))).toEqual({ live: 0, recent: 0, byBucket: new Map([[bucket, 2]]) });
    expect(units.count(at(61_500)).byBucket.size).toBe(0);
  });

  test('units that were reported to another record are live, and not subtracted from this one', () => {
    const units = new OwnUsage(rules);
    units.admitted(at(300));
    units.doubt();
    units.admitted(at(400));
    expect(units.count(at(400))).toMatchObject({ live: 2, byBucket: new Map([[bucket, 1]]) });
    expect(units.count(at(61_500)).byBucket.size).toBe(0);
  });
});
