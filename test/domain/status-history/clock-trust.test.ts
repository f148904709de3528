import { expect, test } from 'vitest';
import { createClockWatch, type ClockWatch } from '../../../src/domain/status-history/clock-trust.ts';
import { createLog } from '../../../src/log.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const HOUR_MS = 3_600_000;

interface Watched {
  readonly clock: FakeClock;
  readonly watch: ClockWatch;
  readonly errors: () => number;
  readonly others: { disagree: boolean };
}

function watched(): Watched {
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(line) });
  const others = { disagree: false };
  const watch = createClockWatch({ clock, log, othersDisagree: () => others.disagree });
  const errors = (): number => lines.filter((line) => (JSON.parse(line) as { level: string }).level === 'error').length;
  return { clock, watch, errors, others };
}

test.each([
  [30_000, true, 'half a minute is no jump'],
  [30_001, false, 'more is one'],
  [-30_000, true, 'nor is it one backwards'],
  [-30_001, false, 'more is one, too'],
  [3 * 24 * HOUR_MS, false, 'three days ahead'],
  [-HOUR_MS, false, 'an hour back'],
])('after a jump of %d ms it is trusted: %s (%s)', (ms, trusted) => {
  const { clock, watch, errors } = watched();
  clock.advance(1000);
  expect(watch.trusted()).toBe(true);
  clock.jump(ms);
  expect(watch.trusted()).toBe(trusted);
  clock.advance(5000);
  expect(watch.trusted()).toBe(trusted);
  expect(errors()).toBe(trusted ? 0 : 1);
});

test('it is trusted again as soon as it is where it was', () => {
  const { clock, watch, errors } = watched();
  clock.jump(HOUR_MS);
  expect(watch.trusted()).toBe(false);
  clock.advance(60_000);
  clock.jump(-HOUR_MS + 20_000);
  expect(watch.trusted()).toBe(true);
  clock.jump(HOUR_MS);
  expect(watch.trusted()).toBe(false);
  expect(errors()).toBe(2);
});

test('a new time is trusted when it has been steady for an hour', () => {
  const { clock, watch, errors } = watched();
  clock.jump(24 * HOUR_MS);
  expect(watch.trusted()).toBe(false);
  clock.advance(HOUR_MS - 1);
  expect(watch.trusted()).toBe(false);
  clock.advance(1);
  expect(watch.trusted()).toBe(true);
  expect(errors()).toBe(1);
  // Its former time is the jump now.
  clock.jump(-24 * HOUR_MS);
  expect(watch.trusted()).toBe(false);
});

test('a clock that goes on jumping begins its hour anew each time', () => {
  const { clock, watch } = watched();
  for (let i = 0; i < 5; i += 1) {
    clock.jump(HOUR_MS);
    expect(watch.trusted()).toBe(false);
    clock.advance(HOUR_MS - 1);
    expect(watch.trusted()).toBe(false);
  }
});

test('a drift that adds up over days is no jump', () => {
  const { clock, watch } = watched();
  for (let hour = 0; hour < 100; hour += 1) {
    clock.advance(HOUR_MS);
    clock.jump(10_000);
    expect(watch.trusted()).toBe(true);
  }
});

test('where the other replicas disagree it is not trusted; they are logged elsewhere', () => {
  const { watch, errors, others } = watched();
  others.disagree = true;
  expect(watch.trusted()).toBe(false);
  others.disagree = false;
  expect(watch.trusted()).toBe(true);
  expect(errors()).toBe(0);
});

test('an instant that was read before the clock was set right is not trusted with it', () => {
  const { clock, watch } = watched();
  const good = clock.now();
  clock.jump(24 * HOUR_MS);
  const bad = clock.now();
  clock.jump(-24 * HOUR_MS);
  expect([watch.trusts(good), watch.trusts(bad)]).toEqual([true, false]);
});
