import { poll, readApp, writeOtel, type Owner } from '../cluster/calls.ts';
import { whole } from '../random.ts';
import { enrolled } from './configs.ts';
import { newOwner, type Job, type Worker } from './worker.ts';

export const STEADY = 'steady';
const TICK_MS = 25;
const OWNERS = 12;
const WRITE_SHARE = 0.05;
const READ_SHARE = 0.2;

/**
 * So many requests a second from behind a load balancer, whether answers come or not: it sends to replicas that say
 * they are ready, and goes to the next one where a connection is refused, since nothing was sent on it.
 * @param unserved is called for each request that no replica took
 */
export const steady =
  (perSecond: number, inRotation: () => readonly number[], unserved: () => void): Job =>
  async (worker) => {
    const daemons = (await Promise.all(Array.from({ length: OWNERS }, () => daemonOf(worker)))).filter(
      (one) => one !== undefined,
    );
    const underWay = new Set<Promise<unknown>>();
    let sent = 0;
    for (const startedAt = worker.recorder.now(); !worker.signal.aborted; await worker.pace(TICK_MS)) {
      const due = ((worker.recorder.now() - startedAt) / 1000) * perSecond;
      for (; sent < due; sent += 1) {
        const daemon = daemons[whole(worker.random, daemons.length)];
        if (!daemon) return;
        const one = balanced(worker, daemon, inRotation()).then((isServed) => {
          underWay.delete(one);
          if (!isServed) unserved();
        });
        underWay.add(one);
      }
    }
    await Promise.all(underWay);
  };

interface Daemon {
  readonly owner: Owner;
  readonly app: string;
  readonly own: Parameters<typeof poll>[2];
}

async function daemonOf(worker: Worker): Promise<Daemon | undefined> {
  const owner = await newOwner(worker);
  const bound = owner && (await enrolled(worker, owner));
  return owner && bound && { owner, ...bound };
}

/** @returns whether a replica took it, whatever its answer was */
async function balanced(worker: Worker, { owner, app, own }: Daemon, ready: readonly number[]): Promise<boolean> {
  const chance = worker.random();
  const write = writeOtel(owner, whole(worker.random, 1_000_000));
  const asked = chance < WRITE_SHARE ? write : chance < READ_SHARE ? readApp(owner, app) : poll(owner, app, own);
  const first = whole(worker.random, ready.length);
  for (let hop = 0; hop < ready.length; hop += 1) {
    const reply = await worker.send(asked, ready[(first + hop) % ready.length]);
    if (reply.failure !== 'refused') return true;
  }
  return false;
}
