import { describe, expect, test } from 'vitest';
import { rateRecordsSweep } from '../../../../src/domain/cleanup/expired-records.ts';
import { createWall } from '../../../../src/domain/rate-window/shared/clock-interval.ts';
import { decide } from '../../../../src/domain/rate-window/shared/decide.ts';
import { NO_PART, reconciled, usableUnits, type OwnHold } from '../../../../src/domain/rate-window/shared/own-hold.ts';
import { OwnUnits } from '../../../../src/domain/rate-window/shared/own-usage.ts';
import {
  NO_WINDOW,
  putWindow,
  readWindow,
  readWindowOrFull,
  type WindowRecord,
} from '../../../../src/domain/rate-window/shared/record.ts';
import { WINDOW_RULES as rules } from '../../../../src/domain/rate-window/shared/rules.ts';
import type { Situation } from '../../../../src/domain/rate-window/shared/situation.ts';
import { ABSENT } from '../../../../src/store/port.ts';
import { openSqliteStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const NOW = Date.UTC(2026, 5, 1);
const now = { earliest: NOW, latest: NOW };
const base: Situation = {
  record: NO_WINDOW,
  replicaId: 'me',
  part: NO_PART,
  own: { live: 0, lately: 0, byBucket: new Map() },
  now,
  monotonic: NOW,
  demand: 1,
  asked: new Map(),
  giveBack: false,
  ends: false,
  writes: 0,
  chargeMs: 500,
  restsUntil: 0,
};
const spent = (units: number, ageMs = 1000): WindowRecord['spent'] => [{ at: NOW - ageMs, units }];
const slice = (units: number, until = NOW + 10_000) => ({ nonce: 7, units, until, slice: true });
const own = (hold: Partial<OwnHold> = {}): OwnHold => ({
  ...slice(100),
  usedUntil: NOW + 10_000,
  takenAt: NOW - 20_000,
  spends: new Map([[NOW - 1000, 40]]),
  spent: 40,
  ...hold,
});
/** The units, in slices of so many other replicas. */
const held = (units: number, replicas = 5): WindowRecord => ({
  ...NO_WINDOW,
  holds: Object.fromEntries(Array.from({ length: replicas }, (_, n) => [`other${n}`, slice(units / replicas)])),
});
const sharedByTen = held(0, 10);

describe('what a replica does next', () => {
  test.each<[string, Partial<Situation>, object]>([
    ['a fresh window gives a slice', {}, { act: 'commit', take: { units: 40, slice: true } }],
    ['one that is shared a smaller one', { record: sharedByTen }, { act: 'commit', take: { units: 18, slice: true } }],
    [
      'what was used lately speaks for more',
      { own: { live: 80, lately: 80, byBucket: new Map() } },
      { act: 'commit', take: { units: 120, slice: true } },
    ],
    ['the second commit within a minute takes more', { writes: 1 }, { act: 'commit', take: { units: 160 } }],
    ['the third one takes as much as one may hold', { writes: 2 }, { act: 'commit', take: { units: 200 } }],
    ['a first slice leaves some of what is free', { record: held(550) }, { act: 'commit', take: { units: 30 } }],
    [
      'one that is scant asks for more at once',
      { record: held(580, 10), writes: 1 },
      { act: 'commit', take: { units: 20, slice: true, wants: 180 }, record: { wanted: ['other0/7'] } },
    ],
    [
      'for many that wait, as many slices are asked for as may bring twice what is lacking',
      { record: held(580, 4), demand: 120, writes: 1 },
      { act: 'commit', take: { units: 20, wants: 180 }, record: { wanted: ['other0/7', 'other1/7'] } },
    ],
    [
      'while much is left, too, no answer counts as spent in the end',
      { record: held(600, 1), asked: new Map([['other0/7', NOW]]) },
      { act: 'refuse' },
    ],
    ['the own hold serves at once', { part: { hold: own(), unanswered: [] } }, { act: 'serve', units: 1 }],
    [
      'not when its settling is unanswered',
      { part: { hold: own(), unanswered: [{ hold: own({ nonce: 8 }), expects: 3 }] } },
      { act: 'commit' },
    ],
    [
      'nor when it is over',
      { part: { hold: own({ usedUntil: NOW }), unanswered: [] } },
      { act: 'commit', take: { slice: true } },
    ],
    [
      'with 200 left only those that wait are charged',
      { record: { ...NO_WINDOW, spent: spent(400) }, demand: 3 },
      { act: 'commit', take: { units: 3, slice: false } },
    ],
    ['with none left all are refused', { record: { ...NO_WINDOW, spent: spent(600) } }, { act: 'refuse' }],
    [
      'what this replica admitted counts by its own memory, for no longer than 60 s',
      {
        record: { ...NO_WINDOW, spent: spent(600, 60_500) },
        own: { live: 500, lately: 0, byBucket: new Map([[NOW - 60_500, 600]]) },
      },
      { act: 'commit', take: { units: 1, slice: false } },
    ],
    [
      'and no shorter',
      {
        record: { ...NO_WINDOW, spent: spent(600, 60_500) },
        own: { live: 600, lately: 0, byBucket: new Map([[NOW - 60_500, 600]]) },
      },
      { act: 'refuse' },
    ],
    ['a bucket counts for 61.25 s', { record: { ...NO_WINDOW, spent: spent(600, 61_249) } }, { act: 'refuse' }],
    ['and no longer', { record: { ...NO_WINDOW, spent: spent(600, 61_250) } }, { act: 'commit' }],
    [
      'what others hold ahead is asked for',
      { record: { ...NO_WINDOW, spent: spent(400), holds: { other: slice(200) } } },
      { act: 'commit', take: { units: 0 }, record: { wanted: ['other/7'] } },
    ],
    [
      'then it is waited for',
      {
        record: { ...NO_WINDOW, spent: spent(400), holds: { other: slice(200) } },
        asked: new Map([['other/7', NOW + 9]]),
      },
      { act: 'wait', until: NOW + 9 },
    ],
    [
      'and not for ever',
      { record: { ...NO_WINDOW, spent: spent(400), holds: { other: slice(200) } }, asked: new Map([['other/7', NOW]]) },
      { act: 'refuse' },
    ],
    [
      'a slice that has ended is asked for, too: its holder may yet tell what it did not spend',
      { record: { ...NO_WINDOW, spent: spent(400), holds: { other: slice(200, NOW - 1000) } } },
      { act: 'commit', record: { wanted: ['other/7'] } },
    ],
    [
      'while holders are asked only they write, even where something is free',
      {
        record: { ...NO_WINDOW, spent: spent(400), holds: { other: slice(100) } },
        asked: new Map([['other/7', NOW + 9]]),
      },
      { act: 'wait', until: NOW + 9 },
    ],
    [
      'they answer before they wait for others themselves',
      {
        giveBack: true,
        part: { hold: own({ usedUntil: NOW }), unanswered: [] },
        record: { ...NO_WINDOW, spent: spent(360), holds: { me: slice(100), other: slice(140) } },
        asked: new Map([['other/7', NOW + 9]]),
      },
      { act: 'commit', take: { units: 0 }, refuses: 0, record: { spent: spent(400) } },
    ],
    [
      'what was not returned in time stands in the way of nothing that is free',
      {
        record: { ...NO_WINDOW, spent: spent(400), holds: { other: slice(100) } },
        asked: new Map([['other/7', NOW]]),
      },
      { act: 'commit', take: { units: 1 } },
    ],
    [
      'whoever has charged lets others charge first',
      { record: { ...NO_WINDOW, spent: spent(400) }, restsUntil: NOW + 9 },
      { act: 'wait', until: NOW + 9 },
    ],
    ['but refuses at once', { record: { ...NO_WINDOW, spent: spent(600) }, restsUntil: NOW + 9 }, { act: 'refuse' }],
    [
      'those for whom there is nothing are refused with the same commit',
      { record: { ...NO_WINDOW, spent: spent(590) }, demand: 30 },
      { act: 'commit', take: { units: 10 }, refuses: 20 },
    ],
    [
      'not where others may return something',
      { record: { ...NO_WINDOW, spent: spent(490), holds: { other: slice(100) } }, demand: 30 },
      { act: 'commit', take: { units: 10 }, refuses: 0 },
    ],
    [
      'where more is spent than there is, no less than nothing is taken',
      {
        record: { ...NO_WINDOW, spent: spent(590), holds: { other: slice(5) } },
        part: { hold: own({ units: 40, usedUntil: NOW }), unanswered: [] },
      },
      { act: 'commit', take: { units: 0 }, record: { wanted: ['other/7'] } },
    ],
    [
      'a slice whose holder is gone counts for 61 s after its end',
      {
        record: { ...NO_WINDOW, spent: spent(400), holds: { other: slice(200, NOW - 60_999) } },
        asked: new Map([['other/7', NOW]]),
      },
      { act: 'refuse' },
    ],
    [
      'and no longer',
      { record: { ...NO_WINDOW, spent: spent(400), holds: { other: slice(200, NOW - 61_000) } } },
      { act: 'commit', take: { units: 1 } },
    ],
    [
      'what a wrong clock wrote ahead is put right, to count for a minute from now',
      { record: { ...NO_WINDOW, spent: spent(600, -3_600_000) } },
      { act: 'commit', take: { units: 0 }, record: { spent: spent(600, 0) } },
    ],
    [
      'a slice that was used is taken anew when it is settled',
      { demand: 0, part: { hold: own(), unanswered: [] } },
      { act: 'commit', take: { units: 40, slice: true }, record: { spent: spent(40) } },
    ],
    [
      'of one that is asked back a part is kept, and the rest goes to whoever wants it',
      {
        demand: 0,
        giveBack: true,
        part: { hold: own(), unanswered: [] },
        record: { ...NO_WINDOW, holds: { me: slice(100), other: { ...slice(0), wants: 200 } } },
      },
      {
        act: 'commit',
        take: { units: 30, slice: true },
        record: { spent: spent(40), holds: { other: { units: 200, wants: 0 } } },
      },
    ],
    [
      'with 200 left all of it is given back',
      {
        demand: 0,
        giveBack: true,
        part: { hold: own(), unanswered: [] },
        record: { ...NO_WINDOW, spent: spent(360), holds: { me: slice(100), other: { ...slice(0), wants: 200 } } },
      },
      { act: 'commit', take: { units: 0 }, record: { spent: spent(400), holds: { other: { units: 0 } } } },
    ],
    [
      'and before a stop',
      { demand: 0, ends: true, part: { hold: own(), unanswered: [] } },
      { act: 'commit', take: { units: 0 }, record: { spent: spent(40) } },
    ],
  ])('%s', (_, change, decision) => {
    expect(decide({ ...base, ...change }, rules)).toMatchObject(decision);
  });
});

test('after a lost answer the record tells whether the commit happened', () => {
  const [before, after] = [own({ nonce: 7 }), own({ nonce: 8 })];
  const part = { hold: before, unanswered: [{ hold: after, expects: 3 }] };
  const known = (nonce: number, revision: number) => ({
    record: { ...NO_WINDOW, holds: { me: { ...slice(100), nonce } } },
    revision,
  });
  expect(reconciled(part, known(8, 4), 'me'), 'it did').toEqual({ hold: after, unanswered: [] });
  expect(reconciled(part, known(7, 3), 'me'), 'it may yet').toEqual(part);
  expect(reconciled(part, known(7, 4), 'me'), 'it never will').toEqual({ hold: before, unanswered: [] });
  const more = { record: { ...NO_WINDOW, holds: { me: { ...slice(130), nonce: 7 } } }, revision: 4 };
  expect(reconciled({ hold: before, unanswered: [] }, more, 'me').hold?.units, 'others added to it').toBe(130);
  const foreign = reconciled(part, known(9, 4), 'me');
  expect(usableUnits(foreign, now), 'a record that does not know the hold').toBe(0);
});

test('a record survives being written and read; one that nobody can read is full', () => {
  const record = { spent: [...spent(3, 2000), ...spent(5)], holds: { other: slice(20) }, wanted: ['other/7'] };
  const { put: key, value } = putWindow('a', record);
  expect(readWindow({ key, value, revision: 1 })).toEqual(record);
  const damaged = readWindowOrFull({ key, value: '{"instants":[]}', revision: 1 }, rules);
  expect(decide({ ...base, record: damaged }, rules), 'put right, to count from now').toMatchObject({
    act: 'commit',
    take: { units: 0 },
    record: { spent: spent(600, 0) },
  });
});

test('a clock that jumps or stands still is doubted for a minute: others count longer, the own hold ends sooner', () => {
  const clock = new FakeClock(NOW);
  const wall = createWall(clock);
  expect(wall()).toEqual(now);
  clock.jump(3_600_000);
  expect(wall()).toEqual({ earliest: NOW, latest: NOW + 3_600_000 });
  clock.jump(-7_200_000);
  expect(wall()).toEqual({ earliest: NOW - 3_600_000, latest: NOW + 3_600_000 });
  for (let second = 0; second < 80; second += 1) {
    clock.advance(1000);
    wall();
  }
  expect(wall()).toEqual({ earliest: clock.now(), latest: clock.now() });
});

describe('what a replica remembers of its own units', () => {
  const at = (ms: number) => ({ earliest: NOW + ms, latest: NOW + ms });
  const bucket = NOW + 250;

  test('each is alive for 60 s, and known as its own for as long as the record counts it', () => {
    const units = new OwnUnits(rules);
    units.admitted(at(300));
    units.admitted(at(400));
    expect(units.count(at(400))).toEqual({ live: 2, lately: 2, byBucket: new Map([[bucket, 2]]) });
    expect(units.freesAt(at(400))).toBe(NOW + 60_300);
    expect(units.live(at(60_299))).toBe(2);
    expect(units.live(at(60_300))).toBe(1);
    expect(units.count(at(61_499))).toEqual({ live: 0, lately: 0, byBucket: new Map([[bucket, 2]]) });
    expect(units.count(at(61_500)).byBucket.size).toBe(0);
  });

  test('those that another record was told of are alive, and not taken off from this one', () => {
    const units = new OwnUnits(rules);
    units.admitted(at(300));
    units.doubt();
    units.admitted(at(400));
    expect(units.count(at(400))).toMatchObject({ live: 2, byBucket: new Map([[bucket, 1]]) });
    expect(units.count(at(61_500)).byBucket.size).toBe(0);
  });
});

test('the clean-up of saved windows leaves shared ones alone', async () => {
  await using store = await openSqliteStore(':memory:');
  const shared = putWindow('a', { ...NO_WINDOW, spent: spent(3) });
  await store.commit({ expect: [{ key: shared.put, revision: ABSENT }], write: [shared], quiet: true });
  const sweep = rateRecordsSweep({ store, clock: new FakeClock(NOW + 86_400_000), fence: [] });
  expect(await sweep.piece(undefined, new AbortController().signal)).toMatchObject({ gone: 0 });
  expect(await store.get(shared.put)).toBeDefined();
});
