import { expect, test } from 'vitest';
import { runLoop } from '../../src/controller/loop.ts';
import { createLog } from '../../src/log.ts';
import { StoreUnavailable } from '../../src/store/port.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';

const SECOND_MS = 1000;

/** The pauses, in seconds, after as many rounds, of which the first two are well and the others fail. */
async function pausesOf(rounds: number, everyMs: number, pauseMaxMs: number | undefined): Promise<number[]> {
  const ending = new AbortController();
  const pauses: number[] = [];
  const time = new FakeClock();
  const clock = {
    now: () => time.now(),
    monotonic: () => time.monotonic(),
    async sleep(ms: number): Promise<void> {
      pauses.push(ms / SECOND_MS);
      if (pauses.length === rounds) ending.abort();
    },
  };
  async function reconcile(): Promise<void> {
    if (pauses.length >= 2) throw new Error('as planned');
  }
  const loop = { name: 'sweep' as const, everyMs, ...(pauseMaxMs !== undefined && { pauseMaxMs }), reconcile };
  const metrics = { loopEnded: () => undefined };
  await runLoop({ clock, log: createLog('silent'), metrics }, loop, ending.signal);
  return pauses;
}

test.each<[number, number | undefined, number[], string]>([
  [5000, undefined, [5, 5, 10, 20, 40, 60, 60], 'doubled up to a minute'],
  [90_000, undefined, [90, 90, 90, 90], 'never shorter than its own pace'],
  [5000, 5000, [5, 5, 5, 5], 'its own pace at most: no back-off'],
  [2000, 10_000, [2, 2, 4, 8, 10, 10], 'ten seconds at most'],
])('every %i ms, at most %s: pauses of %j s (%s)', async (everyMs, pauseMaxMs, pauses) => {
  expect(await pausesOf(pauses.length, everyMs, pauseMaxMs)).toEqual(pauses);
});

test('the pause after a round that succeeded ends when it is woken, and that after a failed one does not', async () => {
  const clock = new FakeClock();
  const ending = new AbortController();
  let rounds = 0;
  let waking = new AbortController();
  const loop = {
    name: 'sweep' as const,
    everyMs: 5000,
    wakes: () => waking.signal,
    async reconcile(): Promise<void> {
      rounds += 1;
      if (rounds === 3) throw new Error('as planned');
    },
  };
  const deps = { clock, log: createLog('silent'), metrics: { loopEnded: () => undefined } };
  const ended = runLoop(deps, loop, ending.signal);
  await until(() => rounds === 1 && clock.sleeping === 1);
  const before = waking;
  waking = new AbortController();
  before.abort();
  await until(() => rounds === 2 && clock.sleeping === 1);
  waking.abort();
  await until(() => rounds === 3 && clock.sleeping === 1);
  clock.advance(9999);
  expect(rounds).toBe(3);
  ending.abort();
  await ended;
});

test('a failure that goes on is logged when it begins, when its reason changes, and once a minute', async () => {
  const clock = new FakeClock();
  const ending = new AbortController();
  const told: string[] = [];
  const write = (line: string): void =>
    void told.push(`${seconds} ${(JSON.parse(line) as { err: { message: string } }).err.message}`);
  const log = createLog('info', { write });
  let seconds = 0;
  const failing = (): Error | undefined => {
    if (seconds === 200) return undefined;
    if (seconds >= 130) return new StoreUnavailable('timeout', `get: ${seconds}`);
    return new StoreUnavailable('full', `hold: ${seconds}`);
  };
  async function reconcile(): Promise<void> {
    const error = failing();
    if (error) throw error;
  }
  const clockOfLoop = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    async sleep(ms: number): Promise<void> {
      clock.advance(ms);
      seconds += ms / SECOND_MS;
      if (seconds === 203) ending.abort();
    },
  };
  const loop = { name: 'sweep' as const, everyMs: SECOND_MS, pauseMaxMs: SECOND_MS, reconcile };
  await runLoop({ clock: clockOfLoop, log, metrics: { loopEnded: () => undefined } }, loop, ending.signal);
  expect(told).toEqual(['0 hold: 0', '60 hold: 60', '120 hold: 120', '130 get: 130', '190 get: 190', '201 get: 201']);
});
