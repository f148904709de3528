import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../src/domain/rate-window/shared/decide.ts';
import { NO_LEASES } from '../../../../src/domain/rate-window/shared/own-lease.ts';
import {
  putWindow,
  readWindow,
  readWindowOrFull,
  type View,
} from '../../../../src/domain/rate-window/shared/record-codec.ts';
import {
  bucketOf,
  committedAt,
  NO_WINDOW,
  stamped,
  UNKNOWN,
  type WindowRecord,
} from '../../../../src/domain/rate-window/shared/record.ts';
import { WINDOW_RULES as rules } from '../../../../src/domain/rate-window/shared/rules.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';

const NOW = 5_000_000;
const WALL = Date.UTC(2026, 5, 1);
const REVISION = 900;
/** Each revision is there 10 ms after the one before; the last one is new. */
const view: View = { now: NOW, wall: WALL, instantOf: (revision) => NOW - (REVISION - revision) * 10 };
const entry = (value: string, revision = REVISION) => ({ key: KEYS.rateWindow('a'), value, revision });

const RECORD: WindowRecord = {
  spent: [
    { by: 'one', bucket: WALL - 2000, units: 3, at: NOW - 2000.25, stamp: { revision: 890, ageMs: 1900 } },
    { by: 'other', bucket: WALL, units: 5, at: NOW - 40.5 },
  ],
  leases: {
    other: {
      nonce: 7,
      units: 20,
      until: NOW + 31_459.5,
      isAllotment: true,
      demand: 5,
      stamp: { revision: 896, ageMs: -31_500 },
    },
  },
  recalled: ['other/7'],
};

describe('a record', () => {
  const { value } = putWindow('a', stamped(RECORD, NOW), rules);

  test('has every instant by a revision, and the fields that builds from before 0.1.0 require', () => {
    expect(JSON.parse(value)).toEqual({
      from: WALL - 2000,
      spent: [],
      holds: { other: { nonce: 7, units: 20, until: 0, slice: true, wants: 5 } },
      wanted: ['other/7'],
      ages: {
        base: 890,
        spent: { one: [[1, 1900, 3, 0]], other: [[0, 40, 5, 8]] },
        holds: { other: [7, -31_500] },
      },
    });
  });

  test('is read by revisions, whatever the wall clock says', () => {
    const read = readWindow(entry(value), { ...view, wall: 0 }, rules);
    expect(read).toEqual({
      key: entry(value).key,
      revision: REVISION,
      record: {
        spent: [
          { ...RECORD.spent[0], at: NOW - 100 - 1900 },
          { ...RECORD.spent[1], at: NOW - 40, stamp: { revision: REVISION, ageMs: 40 } },
        ],
        leases: { other: { ...RECORD.leases['other'], until: NOW - 40 + 31_500 } },
        recalled: ['other/7'],
      },
    });
  });

  test('keeps its stamps when another replica writes it later: no delay adds up', () => {
    const read = readWindow(entry(value), view, rules).record;
    const again: unknown = JSON.parse(putWindow('a', stamped(read, NOW + 20_000), rules).value);
    expect(again).toMatchObject({ ages: { spent: { one: [[1, 1900, 3, 0]], other: [[11, 40, 5, 8]] } } });
  });

  test.each([
    ['{}', 'no fields'],
    ['{"from":0,"spent":[[0,0]],"holds":{},"wanted":[]}', 'no unit'],
    ['{"from":0,"spent":[[0.5,1]],"holds":{},"wanted":[]}', 'a fraction'],
    [
      '{"from":0,"spent":[],"holds":{},"wanted":[],"ages":{"base":900,"spent":{"a":[[2,0,1,0]]},"holds":{}}}',
      'a revision after its own',
    ],
    [
      '{"from":0,"spent":[],"holds":{"a":{"nonce":1,"units":1,"until":1,"slice":true}},"wanted":[],"ages":{"base":0,"spent":{},"holds":{}}}',
      'a lease without an end',
    ],
    [
      '{"from":0,"spent":[],"holds":{},"wanted":[],"ages":{"base":900,"spent":{"a":[[1,-60001,1,0]]},"holds":{}}}',
      'units that would count for more than two minutes',
    ],
    [
      '{"from":0,"spent":[],"holds":{"a":{"nonce":1,"units":1,"until":1,"slice":true}},"wanted":[],"ages":{"base":900,"spent":{},"holds":{"a":[1,-60001]}}}',
      'a lease that would hardly end',
    ],
  ])('%s cannot be read (%s): it counts as spent whole just now, and is to be written anew', (damaged) => {
    const { record, isUnreadable } = readWindowOrFull(entry(damaged), view, rules);
    expect([isUnreadable, record.spent]).toEqual([
      true,
      [{ by: UNKNOWN, bucket: bucketOf(WALL, rules), units: 600, at: NOW }],
    ]);
  });
});

/** Everything that this code can make of clocks with fractions, jumps and delays. */
const instant = fc.double({ min: -70_000, max: 40_000, noNaN: true }).map((ms) => NOW + ms);
const bucket = fc.integer({ min: 0, max: 4e12 }).map((wall) => bucketOf(wall, rules));
const stamp = fc.option(
  fc.record({ revision: fc.integer({ min: 0, max: REVISION - 1 }), ageMs: fc.integer({ min: -40_000, max: 70_000 }) }),
  { nil: undefined },
);
const replica = fc.constantFrom('one', 'other', 'third', UNKNOWN);
const units = fc.integer({ min: 1, max: 600 });
const anyRecord: fc.Arbitrary<WindowRecord> = fc.record({
  spent: fc.array(fc.record({ by: replica, bucket, units, at: instant, stamp }), { maxLength: 20 }),
  leases: fc.dictionary(
    fc.constantFrom('one', 'other', 'third'),
    fc.record({
      nonce: fc.nat(),
      units: fc.nat(200),
      until: instant,
      isAllotment: fc.boolean(),
      demand: fc.option(fc.nat(200), { nil: undefined }),
      stamp,
    }),
    { noNullPrototype: true },
  ),
  recalled: fc.array(fc.constantFrom('one/1', 'other/7')),
});

describe('every record that this code can write', () => {
  const sorted = (record: WindowRecord): readonly string[] =>
    record.spent.map(({ by, bucket: at, units: all, stamp: dated }) => JSON.stringify([by, at, all, dated])).toSorted();

  test('is read back whole, by any replica', () => {
    fc.assert(
      fc.property(anyRecord, fc.double({ min: 0, max: 4e12, noNaN: true }), (record, wall) => {
        const written = stamped(record, NOW);
        const { value } = putWindow('a', written, rules);
        const { record: read } = readWindow(entry(value), { ...view, wall }, rules);
        const dated = committedAt(written, REVISION);
        expect([sorted(read), read.recalled]).toEqual([sorted(dated), dated.recalled]);
        expect(Object.keys(read.leases).toSorted()).toEqual(Object.keys(dated.leases).toSorted());
      }),
    );
  });

  test('never makes a unit older, nor a lease shorter, than it was for the replica that wrote it', () => {
    fc.assert(
      fc.property(anyRecord, fc.double({ min: 0, max: 5000, noNaN: true }), (record, delayMs) => {
        const fresh: WindowRecord = { ...record, spent: record.spent.map((one) => ({ ...one, stamp: undefined })) };
        const { value } = putWindow('a', stamped(fresh, NOW), rules);
        // The commit took place after it was written, and the reader heard of it later.
        const late: View = { now: NOW + delayMs, wall: 0, instantOf: () => NOW + delayMs };
        const read = readWindow(entry(value), late, rules).record.spent.map(({ at }) => at);
        const were = fresh.spent.map(({ at }) => at);
        expect(Math.min(...read, Infinity)).toBeGreaterThanOrEqual(Math.min(...were, Infinity));
        expect(Math.max(...read, -Infinity)).toBeLessThanOrEqual(Math.max(...were, -Infinity) + delayMs + 1);
      }),
    );
  });

  test('comes out of a decision, too, whose own clock has fractions', () => {
    fc.assert(
      fc.property(anyRecord, fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(300), (record, fraction, waiting) => {
        const now = NOW + fraction;
        const decision = decide(
          {
            record,
            mustWrite: true,
            replicaId: 'one',
            leases: NO_LEASES,
            own: { live: 0, recent: 0 },
            now,
            waiting,
            recallDeadlines: new Map(),
            mustReturn: false,
            isStopping: false,
            writes: 0,
            chargeMs: 500 + fraction,
            yieldsUntil: 0,
          },
          rules,
        );
        if (decision.act !== 'commit') return;
        const lease = { ...decision.take, nonce: 1 };
        const next = stamped({ ...decision.record, leases: { ...decision.record.leases, one: lease } }, now);
        expect(() => readWindow(entry(putWindow('a', next, rules).value), view, rules)).not.toThrow();
      }),
    );
  });
});

test('nothing at all is a record, too', () => {
  const { value } = putWindow('a', NO_WINDOW, rules);
  expect(readWindow(entry(value), view, rules).record).toEqual(NO_WINDOW);
});
