import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { MusterProcess } from '../support/service/muster-process.ts';
import { call, tenant, type Tenant } from '../support/service/muster.ts';

/** An admitted request: it was judged between these two instants. */
interface Admitted {
  readonly sentAt: number;
  readonly answeredAt: number;
}

const CONCURRENCY = 20;

/** Sends so many requests, a few at a time. @returns those that were admitted, each other one was refused with 429 */
async function send(muster: MusterProcess, { apiKey }: Tenant, count: number): Promise<readonly Admitted[]> {
  const admitted: Admitted[] = [];
  let left = count;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const sentAt = performance.now();
      const { status } = await call(`${muster.api}/v1/apps`, { token: apiKey });
      expect([200, 429]).toContain(status);
      if (status === 200) admitted.push({ sentAt, answeredAt: performance.now() });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return admitted;
}

/** Admitted requests beyond 600 that surely fall into one span of 60 s. */
function beyond(admitted: readonly Admitted[]): number {
  const answers = admitted.map(({ answeredAt }) => answeredAt).toSorted((one, other) => one - other);
  const most = admitted.map(({ sentAt }) => answers.filter((at) => at >= sentAt && at < sentAt + 60_000).length);
  return Math.max(0, Math.max(...most) - 600);
}

const HOUR_MS = 3_600_000;

test.each([HOUR_MS, -HOUR_MS])(
  'H13: through kill -9 and a restart with the wall clock moved by %i ms, never more than 600 in any 60 s',
  async (movedMs) => {
    const env = { MUSTER_DATA_DIR: scratchDirectory('killed-window') };
    onTestFinished(() => rmSync(env.MUSTER_DATA_DIR, { recursive: true, force: true }));
    const muster = await MusterProcess.start(env);
    const [full, light, idle] = [await tenant(muster), await tenant(muster), await tenant(muster)];
    const before = { full: await send(muster, full, 640), light: await send(muster, light, 30) };
    await muster.end('SIGKILL');

    const moved = join(import.meta.dirname, 'fixtures/moved-wall-clock.ts');
    await using again = await MusterProcess.start({ ...env, WALL_CLOCK_MOVED_MS: String(movedMs) }, moved);
    const after = {
      full: await send(again, full, 640),
      light: await send(again, light, 640),
      idle: await send(again, idle, 640),
    };
    expect(beyond([...before.full, ...after.full])).toBe(0);
    expect(beyond([...before.light, ...after.light])).toBe(0);
    // A slice of 40 units was on disk, and nobody knows how many of these were spent.
    expect(after.light.length).toBeGreaterThanOrEqual(560);
    expect(after.idle.length).toBeGreaterThanOrEqual(600);
  },
);
