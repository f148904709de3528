import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFleetHistory } from '../../../src/domain/fleet-history/fleet-history.ts';
import { readFleetSeries, fleetSeries, FLEET_RANGES } from '../../../src/domain/fleet-history/series.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { dayAt, HOUR_MS } from '../../../src/time/utc-days.ts';
import { runs } from '../../support/run/effort.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* The points of a day, as they lie in the store and as they are read. */

const NEVER = new AbortController().signal;
const BYTES_PER_POINT = 24;
const LISTENING = { clockWatch: { trusted: () => true }, listening: { forMs: () => 0 }, staleAfterMs: 0 };

const counts = fc.nat({ max: LIMITS.appsPerAccountMax });
const fleet = fc.record({ active: counts, silent: counts, failed: counts });

describe('the points of a day', () => {
  let store: Store;
  beforeAll(async () => void (store = await openSqliteStore(':memory:')));
  afterAll(() => store[Symbol.asyncDispose]());
  let accounts = 0;

  test('are read as they were counted first, in at most 24 bytes each, whatever hours are left out', async () => {
    const step = fc.record({ after: fc.constantFrom(0, 1, 1, 1, 2, 7, 24), fleet, anew: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const accountId = String((accounts += 1)).padStart(16, 'a');
        const clock = new FakeClock();
        const begin = () => createFleetHistory({ store, clock, ...LISTENING }, []);
        let history = begin();
        const expected = new Map<number, readonly number[]>();
        const days = new Set<string>();
        for (const { after, fleet, anew } of steps) {
          clock.advance(after * HOUR_MS);
          if (anew) history = begin();
          const hour = history.due();
          if (hour === undefined) continue;
          history.counted(hour, [{ accountId, ...fleet }]);
          await history.round(NEVER);
          const day = dayAt(clock.now());
          if (fleet.active > 0) days.add(day);
          const at = hour * HOUR_MS;
          if (days.has(day) && !expected.has(at)) expected.set(at, [fleet.active, fleet.silent, fleet.failed]);
        }
        const { points } = await readFleetSeries(store, accountId, '7d', clock.now());
        const from = clock.now() - 168 * HOUR_MS;
        expect(points.map(({ at, active, silent, failed }) => [at, [active, silent, failed]])).toEqual(
          [...expected].filter(([at]) => at > from),
        );
        const { entries } = await store.list({ prefix: KEYS.fleetDay.under(accountId), limit: 1000 });
        for (const { value } of entries) expect(value.length).toBeLessThanOrEqual(24 * BYTES_PER_POINT);
      }),
      { numRuns: runs(60) },
    );
  });

  test('take 24 bytes each where every number is the largest that there can be', async () => {
    const most = LIMITS.appsPerAccountMax;
    const clock = new FakeClock(Date.UTC(2026, 5, 1));
    const accountId = 'b'.repeat(16);
    const history = createFleetHistory({ store, clock, ...LISTENING }, []);
    for (let hour = 0; hour < 24; hour += 1) {
      history.counted(history.due() ?? expect.unreachable(), [{ accountId, active: most, silent: most, failed: most }]);
      await history.round(NEVER);
      clock.advance(HOUR_MS);
    }
    const [entry] = (await store.list({ prefix: KEYS.fleetDay.under(accountId), limit: 2 })).entries;
    expect(JSON.parse(entry?.value ?? '')).toMatchObject({
      hours: Array.from({ length: 24 }, () => [most, most, most]),
    });
    expect(Buffer.byteLength(entry?.value ?? '')).toBeLessThanOrEqual(24 * BYTES_PER_POINT);
  });
});

test('no range has more points than an answer may have, at whatever instant', () => {
  const now = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) });
  fc.assert(
    fc.property(now, fc.constantFrom(...FLEET_RANGES), (at, range) => {
      const hour = Math.floor(at / HOUR_MS) * HOUR_MS;
      const days = Array.from({ length: 95 }, (_, back) => ({
        day: dayAt(hour - back * 24 * HOUR_MS),
        hours: Array.from({ length: 24 }, (): [number, number, number] => [1, 1, 1]),
      }));
      const { from, to, stepMs, points } = fleetSeries(days, range, at);
      expect(points.length).toBeLessThanOrEqual(LIMITS.fleetHistoryPointsMax);
      // No step is left out, and each has its point.
      expect(points.map((point) => point.at)).toEqual(
        Array.from({ length: (to - from) / stepMs }, (_, index) => from + index * stepMs),
      );
      expect(to).toBeGreaterThan(at);
      expect(to - stepMs).toBeLessThanOrEqual(at);
    }),
  );
});
