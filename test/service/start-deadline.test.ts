import { expect, test, vi } from 'vitest';
import { StartDeadline, START_MS_MAX, StartTookTooLong } from '../../src/service/start-deadline.ts';
import { FakeClock } from '../support/time/fake-clock.ts';

/** Lets time pass a second at a time, and what waits for it be done. */
async function pass(clock: FakeClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    clock.advance(1000);
    await new Promise(setImmediate);
  }
}

/** A start that hangs, under its deadline. @param waitedMs all the time that passes, where absent */
function hanging(clock: FakeClock, waitedMs = () => clock.monotonic()) {
  const deadline = new StartDeadline(clock, waitedMs);
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
  expect(hung.error).toEqual(new StartTookTooLong('it does not come to listen within 35 s: etcd is silent'));
});

test('time in which the process computes, or has no processor for it, is no wait', async () => {
  const clock = new FakeClock();
  const beganAt = clock.monotonic();
  // A machine that is ten times slower: of each second, a tenth is waited for anything else.
  const hung = hanging(clock, () => (clock.monotonic() - beganAt) / 10);
  await pass(clock, START_MS_MAX / 100 - 1);
  expect(hung.error).toBeUndefined();
  await pass(clock, 1);
  expect(hung.error).toBeInstanceOf(StartTookTooLong);
});

test('nor is time in which the process is stopped', async () => {
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

test('what this process waits is measured by its event loop, and what it computes is left out', async () => {
  const clock = new FakeClock();
  const real = new StartDeadline(clock);
  const over = vi.fn();
  real.held(new Promise<never>(() => undefined)).catch(over);
  // The clock runs far ahead of what this process waits between two turns of its loop.
  await pass(clock, START_MS_MAX / 100);
  expect(over).not.toHaveBeenCalled();
});

test('a start that ends in time ends as it does, and its deadline never comes', async () => {
  const clock = new FakeClock();
  expect(await new StartDeadline(clock).held(Promise.resolve('service'))).toBe('service');
  const refused = new StartDeadline(clock).held(Promise.reject(new Error('its own words')));
  await expect(refused).rejects.toThrow('its own words');
});
