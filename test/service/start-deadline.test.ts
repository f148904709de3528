import { expect, test } from 'vitest';
import { StartDeadline, START_MS_MAX, StartTookTooLong } from '../../src/service/start-deadline.ts';
import { FakeClock } from '../support/time/fake-clock.ts';

/** Lets time pass a second at a time, and what waits for it be done. */
async function pass(clock: FakeClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    clock.advance(1000);
    await new Promise(setImmediate);
  }
}

/** A start that hangs, under its deadline. */
function hanging(clock: FakeClock, beganAt = clock.monotonic()) {
  const deadline = new StartDeadline(clock, beganAt);
  const hung = { deadline, error: undefined as unknown };
  deadline.held(new Promise<never>(() => undefined)).catch((error: unknown) => (hung.error = error));
  return hung;
}

test('a start that hangs is given up at the deadline, and not before, with the cause that it told last', async () => {
  const clock = new FakeClock();
  const hung = hanging(clock);
  hung.deadline.waiting(new Error('nothing listens there'));
  hung.deadline.waiting(new Error('etcd is silent'));
  await pass(clock, START_MS_MAX / 1000 - 1);
  expect(hung.error).toBeUndefined();
  await pass(clock, 1);
  expect(hung.error).toEqual(new StartTookTooLong('it does not come to listen within 36 s: etcd is silent'));
});

test('the time in which the program was loaded counts, up to a bound: a busy machine must be able to start at all', async () => {
  const [quick, busy] = [new FakeClock(), new FakeClock()];
  const [hung, slow] = [hanging(quick, quick.monotonic() - 4000), hanging(busy, busy.monotonic() - 600_000)];
  await Promise.all([pass(quick, 31), pass(busy, 15)]);
  expect([hung.error, slow.error]).toEqual([undefined, undefined]);
  await Promise.all([pass(quick, 1), pass(busy, 1)]);
  expect([hung.error, slow.error]).toEqual([expect.any(StartTookTooLong), expect.any(StartTookTooLong)]);
});

test('time in which the process itself is busy, or stopped, is no wait', async () => {
  const clock = new FakeClock();
  const hung = hanging(clock);
  await pass(clock, 1);
  clock.advance(600_000);
  await new Promise(setImmediate);
  await pass(clock, 30);
  expect(hung.error).toBeUndefined();
  await pass(clock, 3);
  expect(hung.error).toBeInstanceOf(StartTookTooLong);
});

test('a migration has bounds of its own', async () => {
  const clock = new FakeClock();
  const hung = hanging(clock);
  hung.deadline.migrating();
  await pass(clock, 600);
  expect(hung.error).toBeUndefined();
});

test('a start that ends in time ends as it does, and its deadline never comes', async () => {
  const clock = new FakeClock();
  expect(await new StartDeadline(clock, clock.monotonic()).held(Promise.resolve('service'))).toBe('service');
  const refused = new StartDeadline(clock, clock.monotonic()).held(Promise.reject(new Error('its own words')));
  await expect(refused).rejects.toThrow('its own words');
});
