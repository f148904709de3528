import { expect, test, vi } from 'vitest';
import { inTime } from '../../src/concurrency/in-time.ts';
import { systemClock } from '../../src/time/clock.ts';
import { simulatedTimers } from '../support/time/simulated-timers.ts';

class Late extends Error {
  override readonly name = 'Late';
}

const late = (): Error => new Late();

test('work that ends in time has its own end, and leaves no timer behind', async () => {
  using _ = simulatedTimers();
  await expect(inTime(Promise.resolve('done'), 1000, late)).resolves.toBe('done');
  await expect(inTime(Promise.reject(new RangeError('failed')), 1000, late)).rejects.toThrow(RangeError);
  expect(vi.getTimerCount()).toBe(0);
});

test('work that is late is given up at its time and no sooner, and what it fails with later is dropped', async () => {
  using timers = simulatedTimers();
  const work = Promise.withResolvers<string>();
  const ends: unknown[] = [];
  const waiting = inTime(work.promise, 1000, late).catch((error: unknown) => ends.push(error));
  await timers.advance(999);
  expect(ends).toEqual([]);
  await timers.advance(1);
  await waiting;
  expect(ends).toEqual([expect.any(Late)]);
  // It would fail this run as an unhandled rejection.
  work.reject(new RangeError('too late'));
  await expect(work.promise).rejects.toThrow('too late');
});

test('an answer that came while the process stood still is in time', async () => {
  // Two turns of the event loop, as an answer of several steps takes.
  const answer = new Promise((resolve) => setImmediate(() => setImmediate(() => resolve('answered'))));
  const waiting = inTime(answer, 1000, late);
  const until = systemClock.monotonic() + 1500;
  while (systemClock.monotonic() < until);
  await expect(waiting).resolves.toBe('answered');
});
