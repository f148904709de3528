import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SAMPLING } from '../../src/log.ts';
import type { Store } from '../../src/store/port.ts';
import { sendEnroll } from '../support/service/daemon.ts';
import { readiness } from '../support/service/loaded-muster.ts';
import { call, tenant, type Muster } from '../support/service/muster.ts';
import { onEachBackend } from '../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../support/store/faulty-store.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { simulatedTimers } from '../support/time/simulated-timers.ts';
import { until } from '../support/time/until.ts';

/* What a flood of failing requests leaves in the log. No timer runs: the clock of the test alone ends a second. */

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly reason?: string;
  readonly status?: number;
  readonly of?: string;
  readonly leftOut?: number;
}

const PER_SECOND = 12;

onEachBackend('the log under a flood', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let store: FaultyStore;
  let apiKey: string;
  beforeAll(async () => {
    muster = await backend.fresh({
      clock,
      linesPerSecond: SAMPLING.linesPerSecond,
      wrapStore: (opened: Store) => (store = faultyStore(opened)),
    });
    ({ apiKey } = await tenant(muster));
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  const linesOf = async (work: () => Promise<void>): Promise<Line[]> => {
    const from = muster.logged.length;
    await work();
    return muster.logged.slice(from).map((line) => JSON.parse(line) as Line);
  };
  const times = (lines: readonly Line[], msg: string): number => lines.filter((line) => line.msg === msg).length;

  test('an outage of the store for 30 s is one error with its cause, and one line when it ends', async () => {
    using _ = simulatedTimers();
    let during: readonly Line[] = [];
    const lines = await linesOf(async () => {
      store.outage(true);
      during = await linesOf(async () => {
        for (let second = 0; second < 30; second += 1) {
          const asked = Array.from({ length: PER_SECOND }, () =>
            call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey }),
          );
          for (const { status } of await Promise.all(asked)) expect([502, 429]).toContain(status);
          clock.advance(1000);
        }
      });
      store.outage(false);
      // Each look is a line, and how many there are depends on the machine.
      await until(async () => {
        clock.advance(60_000);
        return (await readiness(muster)) === 200;
      });
      expect((await call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey })).status).toBe(201);
    });
    const errors = lines.filter(({ level }) => level === 'error');
    expect(errors).toMatchObject([{ msg: 'the store does not answer: requests are refused with 502 until it does' }]);
    expect(errors[0]).toHaveProperty('err.message');
    expect(times(lines, 'the store answers again')).toBe(1);
    // By the clock of this test a request that is under way while it is moved on is slow, and has no reason.
    const failed = lines.filter(({ msg, status }) => msg === 'slow or failed' && status === 502);
    const reasons = failed.map(({ reason }) => reason);
    expect(new Set(reasons)).toEqual(new Set(['store: unreachable']));
    expect(times(during, 'slow or failed')).toBeLessThanOrEqual(31 * SAMPLING.linesPerSecond);
    expect(JSON.stringify(lines)).not.toContain(apiKey);
  });

  describe('refused enrollments', () => {
    test('are ten lines a second and a count, however many come', async () => {
      using _ = simulatedTimers();
      const lines = await linesOf(async () => {
        const body = { appId: 'a'.repeat(20), enrollCode: 'mst_code_x' };
        for (let second = 0; second < 2; second += 1) {
          clock.advance(1000);
          const asked = Array.from({ length: 100 }, () => sendEnroll(muster, body));
          for (const { status } of await Promise.all(asked)) expect(status).toBe(401);
        }
        clock.advance(1000);
        await sendEnroll(muster, body);
      });
      expect(times(lines, 'not enrolled')).toBe(2 * SAMPLING.linesPerSecond + 1);
      const leftOut = lines.flatMap((line) => (line.of === 'not enrolled' ? [line.leftOut] : []));
      expect(leftOut).toEqual([90, 90]);
    });
  });
});
