import { expect, test } from 'vitest';
import { Fullness, type Look } from '../../src/store/fullness.ts';
import { simulatedTimers } from '../support/time/simulated-timers.ts';

const CAPACITY = 1_000_000;

/** A fullness whose looks are counted, and see what the test says. */
function watched(inUse: number) {
  const state: { look: Look | undefined; looks: number } = {
    look: { inUseBytes: inUse, capacityBytes: CAPACITY, refusesPuts: false },
    looks: 0,
  };
  const fullness = new Fullness(async () => {
    state.looks += 1;
    if (state.look === undefined) throw new Error('no answer');
    return state.look;
  });
  const see = (inUseBytes: number, more: Partial<Look> = {}): void => {
    state.look = { inUseBytes, capacityBytes: CAPACITY, refusesPuts: false, ...more };
  };
  return { state, fullness, see };
}

const wrote = (fullness: Fullness, bytes: number): void => {
  fullness.began(bytes);
  fullness.ended(bytes, true);
};

test('it is NaN until a look succeeds, never 0; a look that fails later leaves it as it was', async () => {
  using timers = simulatedTimers();
  const { state, fullness, see } = watched(0);
  using _ = fullness;
  state.look = undefined;
  expect(fullness.value).toBeNaN();
  await fullness.check();
  expect(fullness.value).toBeNaN();
  see(500_000);
  await timers.advance(10_000);
  expect(fullness.value).toBe(0.5);
  state.look = undefined;
  await timers.advance(20_000);
  expect(fullness.value).toBe(0.5);
});

test.each([
  [0.59, 1],
  [0.6, 10],
])('at a fullness of %f ten seconds have %i looks', async (inUse, looks) => {
  using timers = simulatedTimers();
  const { state, fullness } = watched(inUse * CAPACITY);
  using _ = fullness;
  await fullness.check();
  state.looks = 0;
  await timers.advance(10_000);
  expect(state.looks).toBe(looks);
});

test('what this process writes counts at once, and is looked after within a second', async () => {
  using timers = simulatedTimers();
  const { state, fullness, see } = watched(500_000);
  using _ = fullness;
  await fullness.check();
  state.looks = 0;
  wrote(fullness, 10_000);
  expect(fullness.value).toBeCloseTo(0.515);
  await timers.advance(1000);
  expect(state.looks).toBe(0);
  wrote(fullness, 200_000);
  expect(fullness.value).toBeCloseTo(0.815);
  see(650_000);
  await timers.advance(1000);
  expect(state.looks).toBe(1);
  // The look may not have seen all of it yet: it is forgotten at the next one.
  expect(fullness.value).toBeGreaterThan(0.8);
  await timers.advance(2000);
  expect(fullness.value).toBe(0.65);
});

test('an estimate never reaches 1, which is for a store that refuses every put', async () => {
  using timers = simulatedTimers();
  const { fullness, see } = watched(900_000);
  using _ = fullness;
  await fullness.check();
  wrote(fullness, 10 * CAPACITY);
  expect(fullness.value).toBeLessThan(1);
  see(100_000, { refusesPuts: true });
  await timers.advance(1000);
  expect(fullness.value).toBe(1);
  see(100_000);
  await timers.advance(3000);
  expect(fullness.value).toBe(0.1);
});

test('a refused put counts at once, until a look that tells of alarms tells of none', async () => {
  using timers = simulatedTimers();
  const { fullness, see } = watched(100_000);
  using _ = fullness;
  await fullness.check();
  fullness.refused();
  expect(fullness.value).toBe(1);
  await timers.advance(1000);
  expect(fullness.value).toBe(0.1);
  see(100_000, { refusesPuts: undefined as unknown as boolean });
  fullness.refused();
  await timers.advance(9000);
  expect(fullness.value, 'metrics tell of no alarms').toBe(1);
  await timers.advance(1000);
  expect(fullness.value).toBe(0.1);
});

test('a commit that waits counts from its coming, however many looks it waits', async () => {
  using timers = simulatedTimers();
  const { fullness } = watched(600_000);
  using _ = fullness;
  await fullness.check();
  fullness.began(100_000);
  fullness.began(40_000);
  expect(fullness.value).toBeCloseTo(0.81);
  await timers.advance(5000);
  expect(fullness.value).toBeCloseTo(0.81);
  fullness.ended(40_000, false);
  expect(fullness.value, 'what was never sent is not in the store').toBeCloseTo(0.75);
  fullness.ended(100_000, true);
  expect(fullness.value).toBeCloseTo(0.75);
  await timers.advance(2000);
  expect(fullness.value).toBe(0.6);
});
