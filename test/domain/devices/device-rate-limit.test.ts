import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDeviceRate } from '../../../src/domain/devices/device-rate-limit.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const MINUTE_MS = 60_000;

/** The naive sliding window: how many of these instants lie in the minute up to and including the last. */
const inLastMinute = (admitted: readonly number[], now: number): number =>
  admitted.filter((at) => at > now - MINUTE_MS).length;

/** Sends one request after each pause and gives the instants of those admitted. */
function admittedAt(perMinute: number, pausesMs: readonly number[]): readonly number[] {
  const clock = new FakeClock();
  const rate = createDeviceRate(perMinute, clock);
  const admitted: number[] = [];
  for (const pause of pausesMs) {
    clock.advance(pause);
    if (rate.refuse('app') === undefined) admitted.push(clock.monotonic());
  }
  return admitted;
}

const limit = fc.integer({ min: 1, max: 90 });
/** Bursts and pauses, so that the border of a minute is met from all sides. */
const pauses = fc.array(fc.oneof(fc.constant(0), fc.nat({ max: 2000 }), fc.nat({ max: 150_000 })), {
  maxLength: 400,
  size: 'max',
});

describe('a guard that counts in minutes and weighs the one before', () => {
  test('no minute by the clock has more than the limit', () => {
    fc.assert(
      fc.property(limit, pauses, (perMinute, pausesMs) => {
        const byMinute = Map.groupBy(admittedAt(perMinute, pausesMs), (at) => Math.floor(at / MINUTE_MS));
        for (const admitted of byMinute.values()) expect(admitted.length).toBeLessThanOrEqual(perMinute);
      }),
    );
  });

  test('no rolling minute has twice the limit: that much it may be wrong, since it supposes an even minute before', () => {
    fc.assert(
      fc.property(limit, pauses, (perMinute, pausesMs) => {
        const admitted = admittedAt(perMinute, pausesMs);
        for (const [i, at] of admitted.entries()) {
          expect(inLastMinute(admitted.slice(0, i + 1), at)).toBeLessThan(perMinute * 2 + (perMinute === 1 ? 1 : 0));
        }
      }),
    );
  });

  test.each([
    [59, 0, 'just below the limit none is refused'],
    [66, 0.09, 'a tenth above it a tenth is'],
    [120, 0.5, 'at twice the limit every other one'],
  ])('%i a minute, evenly: a share of %d is refused (%s)', (eachMinute, share) => {
    const evenly = Array.from({ length: eachMinute * 20 }, () => MINUTE_MS / eachMinute);
    const refused = evenly.length - admittedAt(60, evenly).length;
    expect(refused / evenly.length).toBeCloseTo(share, 1);
    if (share === 0) expect(refused).toBe(0);
  });

  test('a device that waits as long as told is admitted, and is not told much more than a minute', () => {
    fc.assert(
      fc.property(limit, pauses, (perMinute, pausesMs) => {
        const clock = new FakeClock();
        const rate = createDeviceRate(perMinute, clock);
        for (const pause of pausesMs) {
          clock.advance(pause);
          const waitSeconds = rate.refuse('app');
          if (waitSeconds === undefined) continue;
          expect(waitSeconds).toBeGreaterThanOrEqual(1);
          expect(waitSeconds).toBeLessThanOrEqual(120);
          clock.advance(waitSeconds * 1000);
          expect(rate.refuse('app')).toBeUndefined();
        }
      }),
    );
  });

  test('a refused request uses up nothing', () => {
    const clock = new FakeClock();
    const [patient, pushing] = [createDeviceRate(3, clock), createDeviceRate(3, clock)];
    for (let i = 0; i < 3; i += 1)
      expect([patient.refuse('app'), pushing.refuse('app')]).toEqual([undefined, undefined]);
    for (let i = 0; i < 50; i += 1) expect(pushing.refuse('app')).toEqual(expect.any(Number));
    expect(pushing.refuse('app')).toBe(patient.refuse('app'));
  });

  test('each counts for itself', () => {
    const rate = createDeviceRate(1, new FakeClock());
    expect(rate.refuse('one')).toBeUndefined();
    expect(rate.refuse('one')).toEqual(expect.any(Number));
    expect(rate.refuse('other')).toBeUndefined();
  });

  test('after two silent minutes all is forgotten', () => {
    const clock = new FakeClock();
    const rate = createDeviceRate(2, clock);
    expect([rate.refuse('app'), rate.refuse('app')]).toEqual([undefined, undefined]);
    clock.advance(2 * MINUTE_MS);
    expect([rate.refuse('app'), rate.refuse('app'), typeof rate.refuse('app')]).toEqual([
      undefined,
      undefined,
      'number',
    ]);
  });

  test('the wall clock may jump: only the monotonic one counts', () => {
    const clock = new FakeClock();
    const rate = createDeviceRate(1, clock);
    expect(rate.refuse('app')).toBeUndefined();
    clock.jump(24 * 60 * MINUTE_MS);
    expect(rate.refuse('app')).toEqual(expect.any(Number));
  });
});
