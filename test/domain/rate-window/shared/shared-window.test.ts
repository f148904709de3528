import { describe, expect, test } from 'vitest';
import { decide } from '../../../../src/domain/rate-window/shared/decide.ts';
import {
  NO_LEASES,
  reconciled,
  spendUnit,
  usableUnits,
  withoutUse,
  type OwnLease,
} from '../../../../src/domain/rate-window/shared/own-lease.ts';
import { OwnUsage } from '../../../../src/domain/rate-window/shared/own-usage.ts';
import { NO_WINDOW, type WindowRecord } from '../../../../src/domain/rate-window/shared/record.ts';
import { WINDOW_RULES as rules } from '../../../../src/domain/rate-window/shared/rules.ts';
import type { Situation } from '../../../../src/domain/rate-window/shared/situation.ts';
import { foundAt } from '../../../support/store/snapshots.ts';

const NOW = 1_000_000;
const base: Situation = {
  record: NO_WINDOW,
  mustWrite: false,
  replicaId: 'me',
  leases: NO_LEASES,
  own: { live: 0, recent: 0 },
  now: NOW,
  waiting: 1,
  recallDeadlines: new Map(),
  mustReturn: false,
  isStopping: false,
  writes: 0,
  chargeMs: 500,
  yieldsUntil: 0,
};
const spent = (units: number, ageMs = 1000, by = 'other'): WindowRecord['spent'] => [
  { by, bucket: NOW - ageMs, at: NOW - ageMs, units },
];
const allotment = (units: number, until = NOW + 10_000) => ({
  nonce: 7,
  units,
  until,
  isAllotment: true,
});
const own = (lease: Partial<OwnLease> = {}): OwnLease => ({
  ...allotment(100),
  usedUntil: NOW + 10_000,
  spends: [{ bucket: NOW - 1000, units: 40, at: NOW - 1000 }],
  spent: 40,
  ...lease,
});
/** What `own()` has spent. */
const OWN_40: Situation['own'] = { live: 40, recent: 0 };
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
      { own: { live: 80, recent: 80 } },
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
    [
      'a replica that shares the window with nobody takes an allotment of the last units, too, and leaves some',
      { own: { live: 500, recent: 200 }, waiting: 3 },
      { act: 'commit', take: { units: 60, isAllotment: true }, refuses: 0 },
    ],
    [
      'as many as wait, at least',
      { own: { live: 550, recent: 200 }, waiting: 45 },
      { act: 'commit', take: { units: 45, isAllotment: true }, refuses: 0 },
    ],
    [
      'where no more are free than wait, these are charged',
      { own: { live: 597, recent: 200 }, waiting: 5 },
      { act: 'commit', take: { units: 3, isAllotment: false }, refuses: 2 },
    ],
    [
      'a lease of another replica shares the window, although none of its units is spent',
      { record: sharedByTen, own: { live: 500, recent: 200 } },
      { act: 'commit', take: { units: 1, isAllotment: false } },
    ],
    [
      'a replica that stops takes no allotment of the last units',
      { own: { live: 500, recent: 200 }, isStopping: true, mustReturn: true },
      { act: 'commit', take: { units: 1, isAllotment: false } },
    ],
    [
      'a replica that is to return what it has takes no allotment of the last units',
      { own: { live: 500, recent: 200 }, mustReturn: true },
      { act: 'commit', take: { units: 1, isAllotment: false } },
    ],
    [
      'where no more are left than wait there is nothing to allot',
      { own: { live: 500, recent: 200 }, waiting: 100 },
      { act: 'commit', take: { units: 100, isAllotment: false } },
    ],
    ['with none left all are refused', { record: { ...NO_WINDOW, spent: spent(600) } }, { act: 'refuse' }],
    [
      'what this replica admitted counts by its own memory, for no longer than 60 s',
      {
        record: { ...NO_WINDOW, spent: spent(600, 50_000, 'me') },
        own: { live: 500, recent: 0 },
      },
      { act: 'commit', take: { units: 60, isAllotment: true } },
    ],
    [
      'and no shorter',
      {
        record: { ...NO_WINDOW, spent: spent(600, 60_500, 'me') },
        own: { live: 600, recent: 0 },
      },
      { act: 'refuse' },
    ],
    [
      'the units of others count for 60.1 s',
      { record: { ...NO_WINDOW, spent: spent(600, 60_099) } },
      { act: 'refuse' },
    ],
    ['and no longer', { record: { ...NO_WINDOW, spent: spent(600, 60_100) } }, { act: 'commit' }],
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
        own: OWN_40,
        record: { ...NO_WINDOW, spent: spent(360), leases: { me: allotment(100), other: allotment(140) } },
        recallDeadlines: new Map([['other/7', NOW + 9]]),
      },
      { act: 'commit', take: { units: 0 }, refuses: 0, record: { spent: [{ units: 360 }, { by: 'me', units: 40 }] } },
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
        own: OWN_40,
      },
      { act: 'commit', take: { units: 0 }, record: { recalled: ['other/7'] } },
    ],
    [
      'an allotment whose holder is gone counts for 60.1 s after its end',
      {
        record: { ...NO_WINDOW, spent: spent(400), leases: { other: allotment(200, NOW - 60_099) } },
        recallDeadlines: new Map([['other/7', NOW]]),
      },
      { act: 'refuse' },
    ],
    [
      'and no longer',
      { record: { ...NO_WINDOW, spent: spent(400), leases: { other: allotment(200, NOW - 60_100) } } },
      { act: 'commit', take: { units: 1 } },
    ],
    [
      'a record that could not be read is written anew although nothing is free',
      { mustWrite: true, record: { ...NO_WINDOW, spent: spent(600) } },
      { act: 'commit', take: { units: 0 }, refuses: 1, record: { spent: spent(600) } },
    ],
    [
      'an allotment that was used is renewed when it is settled',
      { waiting: 0, leases: { lease: own(), unanswered: [] } },
      { act: 'commit', take: { units: 40, isAllotment: true }, record: { spent: spent(40, 1000, 'me') } },
    ],
    [
      'of a recalled allotment a part is kept, and the rest is transferred to a replica with a demand',
      {
        waiting: 0,
        mustReturn: true,
        leases: { lease: own(), unanswered: [] },
        own: OWN_40,
        record: { ...NO_WINDOW, leases: { me: allotment(100), other: { ...allotment(0), demand: 200 } } },
      },
      {
        act: 'commit',
        take: { units: 30, isAllotment: true },
        record: { spent: spent(40, 1000, 'me'), leases: { other: { units: 200, demand: 0 } } },
      },
    ],
    [
      'with 200 left all of it is returned',
      {
        waiting: 0,
        mustReturn: true,
        leases: { lease: own(), unanswered: [] },
        own: OWN_40,
        record: {
          ...NO_WINDOW,
          spent: spent(360),
          leases: { me: allotment(100), other: { ...allotment(0), demand: 200 } },
        },
      },
      {
        act: 'commit',
        take: { units: 0 },
        record: { spent: [{ units: 360 }, { by: 'me', units: 40 }], leases: { other: { units: 0 } } },
      },
    ],
    [
      'and before a stop, too',
      { waiting: 0, isStopping: true, leases: { lease: own(), unanswered: [] } },
      { act: 'commit', take: { units: 0 }, record: { spent: spent(40, 1000, 'me') } },
    ],
  ])('%s', (_, change, decision) => {
    expect(decide({ ...base, ...change }, rules)).toMatchObject(decision);
  });
});

test('after a lost answer the record tells whether the commit happened', () => {
  const [before, after] = [own({ nonce: 7 }), own({ nonce: 8 })];
  const part = { lease: before, unanswered: [{ lease: after, expects: 3 }] };
  const known = (nonce: number, revision: number) =>
    foundAt(revision, { ...NO_WINDOW, leases: { me: { ...allotment(100), nonce } } });
  expect(reconciled(part, known(8, 4), 'me'), 'it did').toEqual({ lease: after, unanswered: [] });
  expect(reconciled(part, known(7, 3), 'me'), 'it may yet').toEqual(part);
  expect(reconciled(part, known(7, 4), 'me'), 'it never will').toEqual({ lease: before, unanswered: [] });
  const more = foundAt(4, { ...NO_WINDOW, leases: { me: { ...allotment(130), nonce: 7 } } });
  expect(reconciled({ lease: before, unanswered: [] }, more, 'me').lease?.units, 'others added to it').toBe(130);
  const foreign = reconciled(part, known(9, 4), 'me');
  expect(usableUnits(foreign, NOW), 'a record that does not know the lease').toBe(0);
});

test('after the machine stood still nothing is admitted from the own leases, and what was not spent is returned', () => {
  const leases = { lease: own(), unanswered: [{ lease: own({ nonce: 8 }), expects: 3 }] };
  const { lease, unanswered } = withoutUse(leases);
  expect(usableUnits({ lease, unanswered: [] }, NOW)).toBe(0);
  expect(usableUnits({ lease: unanswered[0]?.lease, unanswered: [] }, NOW), 'nor from one on its way').toBe(0);
  const record = { ...NO_WINDOW, leases: { me: allotment(100) } };
  expect(
    decide({ ...base, waiting: 0, mustReturn: true, record, leases: { lease, unanswered: [] } }, rules),
  ).toMatchObject({ act: 'commit', record: { spent: spent(40, 1000, 'me') } });
});

test('a bucket that comes again, as the wall clock was set back, moves no unit', () => {
  const lease = own({ spends: [], spent: 0 });
  for (const at of [NOW, NOW + 100, NOW + 20_000]) spendUnit(lease, at, 750, rules);
  expect(lease).toMatchObject({
    spent: 3,
    spends: [
      { bucket: 750, units: 2, at: NOW + 100 },
      { bucket: 750, units: 1, at: NOW + 20_000 },
    ],
  });
});

describe('the units that a replica admitted itself', () => {
  test('each is live for 60 s, and for 60.1 s where others share the window', () => {
    const units = new OwnUsage(rules);
    units.admitted(NOW + 300);
    units.admitted(NOW + 400);
    expect(units.count(NOW + 400)).toEqual({ live: 2, recent: 2 });
    expect(units.freesAt(NOW + 400)).toBe(NOW + 60_300);
    expect(units.live(NOW + 60_299)).toBe(2);
    expect(units.live(NOW + 60_300)).toBe(1);
    units.isShared = true;
    expect(units.freesAt(NOW + 60_300)).toBe(NOW + 60_500);
    expect(units.live(NOW + 60_499)).toBe(1);
    expect(units.live(NOW + 60_500)).toBe(0);
  });
});
