import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { timedVerdict } from '../support/run/timed-verdict.ts';
import { MusterProcess } from '../support/service/muster-process.ts';
import { call, KEY_FILE_TEXT, tenant, type Tenant } from '../support/service/muster.ts';
import { until } from '../support/time/until.ts';

const url = inject('etcd');
const JUMPING = join(import.meta.dirname, 'fixtures/jumping-wall-clock.ts');

/** An admitted request: it was judged between these two instants. */
interface Admitted {
  readonly sentAt: number;
  readonly answeredAt: number;
}

interface Sent {
  readonly admitted: readonly Admitted[];
  readonly statuses: Readonly<Record<number, number>>;
}

/** Sends so many requests to each of these replicas, a few at a time. */
async function send(replicas: readonly MusterProcess[], { apiKey }: Tenant, each: number): Promise<Sent> {
  const admitted: Admitted[] = [];
  const statuses: Record<number, number> = {};
  const worker = async ({ api }: MusterProcess): Promise<void> => {
    for (let n = 0; n < each / 5; n += 1) {
      const sentAt = performance.now();
      const { status } = await call(`${api}/v1/apps`, { token: apiKey });
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status === 200) admitted.push({ sentAt, answeredAt: performance.now() });
    }
  };
  await Promise.all(replicas.flatMap((replica) => Array.from({ length: 5 }, () => worker(replica))));
  return { admitted, statuses };
}

/** Admitted requests beyond 600 that surely fall into one span of 60 s. */
function beyond(sent: readonly Sent[]): number {
  const admitted = sent.flatMap((one) => one.admitted);
  const answers = admitted.map(({ answeredAt }) => answeredAt);
  const most = admitted.map(({ sentAt }) => answers.filter((at) => at >= sentAt && at < sentAt + 60_000).length);
  return Math.max(0, Math.max(...most) - 600);
}

test.skipIf(url === undefined)(
  'H13: replicas whose wall clocks are seconds apart and jump by minutes refuse nobody early, and never admit more than 600 in any 60 s, through a kill and a stop',
  async () => {
    const directory = scratchDirectory('wrong-clocks');
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    writeFileSync(join(directory, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
    const env = {
      MUSTER_DATA_DIR: directory,
      MUSTER_KEY_FILE: join(directory, 'keys'),
      MUSTER_STORE: `etcd:${url}`,
      MUSTER_ETCD_PREFIX: `/${randomUUID()}/`,
    };
    const start = async (movedMs: number): Promise<MusterProcess> =>
      await MusterProcess.start({ ...env, WALL_CLOCK_MOVED_MS: String(movedMs) }, JUMPING);
    await using first = await start(3000);
    await using second = await start(0);
    await using third = await start(-2000);
    const byAccount: Sent[][] = [];
    /** A holder that stands still for a second counts as having spent what it holds: others are refused early then. */
    const claimed = (replicas: readonly MusterProcess[], each: number, claim: (sent: Sent) => void) =>
      timedVerdict(async () => {
        const account = await tenant(first);
        const sent = [await send(replicas, account, each)];
        // Those of an attempt that does not count must not be too many, either.
        byAccount.push(sent);
        sent.forEach(claim);
        return { account, sent };
      });

    const few = await claimed([first, second, third], 190, ({ statuses }) =>
      expect(statuses, 'below the limit').toEqual({ 200: 570 }),
    );
    await claimed([first, second, third], 300, ({ admitted }) =>
      expect(admitted.length, 'at the limit').toBeGreaterThanOrEqual(600),
    );

    third.freeze();
    await second.end('SIGKILL');
    few.sent.push(await send([first], few.account, 200));
    third.thaw();
    // It is ready again once the store has answered it.
    await until(async () => (await fetch(`${third.ops}/readyz`)).status === 200);
    few.sent.push(await send([first, third], few.account, 200));
    await claimed([first, third], 450, ({ admitted }) =>
      expect(admitted.length, 'a fresh window of the two that live').toBeGreaterThanOrEqual(600),
    );
    expect(byAccount.map(beyond)).toEqual(byAccount.map(() => 0));
  },
);
