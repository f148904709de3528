import { expect, test } from 'vitest';
import { createListening } from '../../../src/domain/devices/listening.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* The time that a replica has been there for daemons: an outage of the service is no silence of theirs. */

const STALE_MS = 180_000;
const BREAK_MS = 60_000;

function listener() {
  const clock = new FakeClock();
  const listening = createListening(clock, STALE_MS);
  /** Lets the time pass, with an answer of the store every five seconds. */
  const passes = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += 5000) {
      clock.advance(5000);
      listening.answered();
    }
  };
  return { clock, listening, passes };
}

test('begins with the first answer of the store, not with the process', () => {
  const { clock, listening, passes } = listener();
  expect(listening.forMs()).toBe(0);
  clock.advance(STALE_MS);
  expect(listening.forMs()).toBe(0);
  listening.answered();
  expect(listening.forMs()).toBe(0);
  passes(STALE_MS);
  expect(listening.forMs()).toBe(STALE_MS);
});

test.each([
  [BREAK_MS, STALE_MS + BREAK_MS, 'a store that is away for a poll interval makes no daemon silent'],
  [BREAK_MS + 1, 0, 'a longer time without its answers is a break'],
])('%i ms without an answer: listening for %i ms (%s)', (awayMs, forMs) => {
  const { clock, listening, passes } = listener();
  listening.answered();
  passes(STALE_MS);
  clock.advance(awayMs);
  expect(listening.forMs()).toBe(forMs);
  listening.answered();
  expect(listening.forMs()).toBe(forMs);
  passes(10_000);
  expect(listening.forMs()).toBe(forMs + 10_000);
});

test('begins anew after contacts could not be written, although the store answers', () => {
  const { listening, passes } = listener();
  listening.answered();
  passes(STALE_MS);
  listening.failed();
  expect(listening.forMs()).toBe(0);
  passes(10_000);
  expect(listening.forMs()).toBe(10_000);
});

test('counts by the monotonic clock: a corrected wall clock changes nothing', () => {
  const { clock, listening, passes } = listener();
  listening.answered();
  passes(STALE_MS);
  clock.jump(-7_200_000);
  expect(listening.forMs()).toBe(STALE_MS);
});
