import { expect, test } from 'vitest';
import { runLoop } from '../../src/controller/loop.ts';
import { createLog } from '../../src/log.ts';
import { FakeClock } from '../support/time/fake-clock.ts';

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
