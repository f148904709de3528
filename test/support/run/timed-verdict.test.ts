import process from 'node:process';
import { describe, expect, test } from 'vitest';
import { ControlLoop, type Stalls } from './control-loop.ts';
import { ATTEMPTS_MAX, STALL_MS_MAX, timedVerdict } from './timed-verdict.ts';

/* The verdicts of `test/system` on durations: a starved machine is not a late service. */

/**
 * Attempts with these stalls beside them, one after the other; each of these outcomes is thrown where it is an error.
 */
async function judged(attempts: readonly { readonly stalls: Partial<Stalls>; readonly outcome: unknown }[]) {
  let made = 0;
  let repeated = 0;
  const verdict = await timedVerdict(
    async () => {
      const { outcome } = attempts[made] ?? {};
      made += 1;
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    {
      watch: async () => ({
        stalls: async () => ({ machineMs: 20, ownMs: 20, ...attempts[made - 1]?.stalls }),
        [Symbol.asyncDispose]: async () => undefined,
      }),
      repeated: () => (repeated += 1),
    },
  ).catch((error: unknown) => error);
  return { verdict, made, repeated };
}

const late = new Error('2 100 ms, of 2 000');
const lively = { machineMs: STALL_MS_MAX, ownMs: STALL_MS_MAX };
const still = { machineMs: STALL_MS_MAX + 1 };

describe('a verdict on a duration', () => {
  test('that is late while the machine is lively stands at once', async () => {
    expect(await judged([{ stalls: lively, outcome: late }])).toEqual({ verdict: late, made: 1, repeated: 0 });
  });

  test.each([
    ['the machine', still],
    ['the process that measures', { ownMs: STALL_MS_MAX + 1 }],
  ])('that is late while %s stands still is repeated, and the next one counts', async (_what, stalls) => {
    const attempts = [
      { stalls, outcome: late },
      { stalls, outcome: late },
    ];
    const inTime = { stalls: lively, outcome: 1900 };
    expect(await judged([...attempts, inTime])).toEqual({ verdict: 1900, made: 3, repeated: 2 });
    const lateAgain = { stalls: lively, outcome: late };
    expect(await judged([...attempts, lateAgain])).toEqual({ verdict: late, made: 3, repeated: 2 });
  });

  test('that is in time counts, whatever the machine did', async () => {
    expect(await judged([{ stalls: still, outcome: 1900 }])).toEqual({ verdict: 1900, made: 1, repeated: 0 });
  });

  test('is none where the machine stands still each time: that fails, in words', async () => {
    const { verdict, made, repeated } = await judged(
      Array.from({ length: ATTEMPTS_MAX + 1 }, () => ({ stalls: still, outcome: late })),
    );
    expect([made, repeated]).toEqual([ATTEMPTS_MAX, ATTEMPTS_MAX - 1]);
    expect(verdict).toMatchObject({
      message: expect.stringMatching(/no verdict: .* each of 5 attempts, .* for 251 ms, where 250 ms/) as string,
      cause: late,
    });
  });

  test('is counted for the closing line', async ({ task }) => {
    const stalls = [still, lively];
    const watch = async () => ({
      stalls: async () => ({ ownMs: 20, machineMs: 20, ...stalls.shift() }),
      [Symbol.asyncDispose]: async () => undefined,
    });
    await expect(timedVerdict(() => Promise.reject(late), { watch })).rejects.toBe(late);
    expect(task.meta.repeatedVerdicts).toBe(1);
    // It was none of the run's.
    delete task.meta.repeatedVerdicts;
  });
});

test('the control loop measures how long it got no turn, and how long this process got none', async () => {
  await using loop = await ControlLoop.start();
  process.kill(loop.pid ?? 0, 'SIGSTOP');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS_MAX + 10);
  process.kill(loop.pid ?? 0, 'SIGCONT');
  const { machineMs, ownMs } = await loop.stalls();
  expect(machineMs).toBeGreaterThan(STALL_MS_MAX);
  expect(ownMs).toBeGreaterThan(STALL_MS_MAX);
});
