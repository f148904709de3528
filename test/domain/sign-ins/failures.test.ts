import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import {
  failuresAt,
  NO_FAILURES,
  waitOf,
  withFailure,
  withoutFailure,
  type Failures,
  type Waited,
} from '../../../src/domain/sign-ins/failures.ts';
import { NameRecord, numberOf, readNames, recordOf } from '../../../src/domain/sign-ins/name-records.ts';
import { runs } from '../../support/run/effort.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const START = Date.UTC(2026, 5, 1);
const MINUTE_MS = 60_000;

/** So many failures that were compared at once. */
const failed = (count: number, at = START): Failures =>
  Array.from({ length: count }).reduce<Failures>((failures) => withFailure(failures, at), NO_FAILURES);
const wait = (name: Failures, now: number, waited: Waited = 'no', network: Failures = NO_FAILURES): number =>
  waitOf({ name, network, site: network, waited }, now);

describe('the wait of an attempt', () => {
  test.each<[count: number, later: number, waited: Waited, ms: number, why: string]>([
    [0, 0, 'no', 0, 'the first one is compared at once'],
    [4, 0, 'no', 0, 'so is the fifth'],
    [5, 0, 'no', 12_000, 'the sixth waits for a turn'],
    [5, 0, 'by ticket', 12_000, 'also with a ticket, while no turn has come'],
    [5, 9000, 'no', 5000, 'it waits five seconds at least'],
    [5, 11_999, 'by ticket', 5000, 'who comes a moment early begins anew'],
    [5, 12_000, 'by ticket', 0, 'who has a ticket has the first seconds of a turn'],
    [5, 12_000, 'by network', 5000, 'who has none comes after them'],
    [5, 15_000, 'by network', 0, 'and is compared then'],
    [5, 60_000, 'no', 5000, 'who has not waited is told to, also where a turn is free'],
    [5, 5 * MINUTE_MS, 'no', 0, 'failures decay: after five minutes four are left'],
  ])('after %d failures, %d ms later, %s: %d ms (%s)', (count, later, waited, ms) => {
    expect(wait(failed(count), START + later, waited)).toBe(ms);
  });

  test('a network that has failed comes after those that have not, and from its fifth failure on waits twice as long', () => {
    const name = failed(10);
    const at = (network: Failures, later: number): number => wait(name, START + later, 'by ticket', network);
    expect([at(failed(1), 12_000), at(failed(1), 15_000)]).toEqual([5000, 0]);
    const delays = [4, 5, 6, 7, 8, 9, 10, 11, 200].map((count) => at(failed(count), 0) / 1000);
    expect(delays).toEqual([15, 15, 24, 48, 96, 192, 300, 300, 300]);
  });

  test('failures are half as many after a quarter of an hour; one that is taken back counts no more, and its turn stays used', () => {
    expect(failuresAt(failed(8), START + LIMITS.signInFailuresHalfLifeMs)).toBeCloseTo(4, 2);
    const back = withoutFailure(failed(6));
    expect([back.count, back.at]).toEqual([5, START]);
    expect(wait(back, START, 'by ticket')).toBe(12_000);
    expect(withoutFailure(NO_FAILURES)).toEqual(NO_FAILURES);
  });

  test.each([
    [8000, 20_000, 'a clock that is a little ahead makes the wait longer by as much'],
    [3_600_000, 0, 'one that is an hour ahead was wrong: a turn is free, and the next failure mends the record'],
  ])('of a record %d ms ahead with a ticket: %d ms (%s)', (ahead, ms) => {
    const record = failed(5, START + ahead);
    expect(wait(record, START, 'by ticket')).toBe(ms);
    expect(withFailure(record, START).at).toBe(ahead > 10_000 ? START : START + ahead);
  });

  test('whatever comes and whenever, no more than ten are compared in any minute, but what proved to be right', () => {
    const step = fc.record({
      pauseMs: fc.oneof(fc.nat(2000), fc.nat(20_000), fc.nat(40 * MINUTE_MS)),
      waited: fc.constantFrom<Waited>('no', 'by ticket', 'by network'),
      network: fc.nat(3),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        let [name, now] = [NO_FAILURES, START];
        const networks = new Map<number, Failures>();
        const compared: number[] = [];
        for (const { pauseMs, waited, network } of steps) {
          now += pauseMs;
          const own = networks.get(network) ?? NO_FAILURES;
          const waitMs = waitOf({ name, network: own, site: own, waited }, now);
          expect(waitMs === 0 || waitMs >= LIMITS.signInWaitMsMin).toBe(true);
          expect(waitMs).toBeLessThanOrEqual(LIMITS.signInDelayMsMax);
          if (waitMs > 0) continue;
          compared.push(now);
          name = stored(withFailure(name, now));
          networks.set(network, withFailure(own, now));
        }
        const inMinute = compared.map((at) => compared.filter((other) => other >= at && other < at + MINUTE_MS).length);
        expect(Math.max(0, ...inMinute)).toBeLessThanOrEqual(10);
      }),
      { numRuns: runs(300) },
    );
  });

  test('whoever of a network without failures comes as told is compared where nobody took the turn', () => {
    fc.assert(
      fc.property(fc.integer({ min: 5, max: 60 }), fc.nat(30 * MINUTE_MS), fc.nat(50_000), (count, later, late) => {
        const name = failed(count);
        const told = wait(name, START + later);
        expect(told).toBeLessThanOrEqual(LIMITS.signInTurnMs);
        expect(wait(name, START + later + told + late, 'by ticket')).toBe(0);
      }),
      { numRuns: runs(300) },
    );
  });
});

const stored = (failures: Failures): Failures => {
  const record = new NameRecord();
  record.set(77, failures);
  return readNames(1, {
    key: rawKey('sign-in-names/1'),
    value: JSON.stringify(record.toRecord()),
    revision: 1,
  }).record.get(77);
};

describe('the records of names', () => {
  test('a name keeps its failures, rounded up by less than a hundredth, and its instant', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 255, noNaN: true }), fc.nat(2 ** 31 - 1), (count, later) => {
        const read = stored({ count, at: START + later });
        expect(read.at).toBe(START + later);
        expect(read.count - count).toBeGreaterThanOrEqual(0);
        expect(read.count - count).toBeLessThan(0.01);
      }),
      { numRuns: runs(200) },
    );
    expect(stored({ count: 1e9, at: START }).count).toBe(255);
  });

  test('each of the 4096 names has a place of its own in 64 records of one size', () => {
    const records = Array.from({ length: 64 }, () => new NameRecord());
    const names = Array.from({ length: LIMITS.signInNamesCounted }, (_, name) => name);
    for (const name of names) records[recordOf(name)]?.set(name, { count: name % 200, at: name });
    expect(names.map((name) => records[recordOf(name)]?.get(name))).toEqual(
      names.map((name) => ({ count: name % 200, at: name })),
    );
    expect(new Set(records.map((record) => JSON.stringify(record.toRecord()).length)).size).toBe(1);
  });

  test('a name has the same number under one key, and another one under another', () => {
    const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const names = Array.from({ length: 200 }, (_, i) => `login ${i}@example.com`);
    const numbers = names.map((name) => numberOf(one, name));
    expect(names.map((name) => numberOf(one, name))).toEqual(numbers);
    expect(names.filter((name, i) => numberOf(other, name) === numbers[i]).length).toBeLessThan(5);
    expect(numbers.every((number) => number >= 0 && number < LIMITS.signInNamesCounted)).toBe(true);
    expect(new Set(numbers).size).toBeGreaterThan(150);
  });

  test.each(['', '{}', '{"failures":"AAAA"}', '{"failures":7}'])(
    'a record that cannot be read counts from 0: %s',
    (value) => {
      const { record, revision } = readNames(3, { key: rawKey('sign-in-names/3'), value, revision: 9 });
      expect([record.get(200), revision]).toEqual([NO_FAILURES, 9]);
    },
  );
});
