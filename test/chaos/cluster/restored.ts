import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import type { EtcdCluster } from '../../support/etcd/etcd.ts';
import { hold, took } from '../nemesis/fault.ts';
import { seeded } from '../random.ts';
import { enrolled } from '../workload/configs.ts';
import { newOwner, REPLICAS, work, type Worker } from '../workload/worker.ts';
import { poll, type OwnCredential, type Owner } from './calls.ts';
import type { Replica } from './replica.ts';
import { looksAt, RELISTS, rotationFaults } from './rotation.ts';
import { World } from './world.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const NOTICED_MS_MAX = 60_000;
const LOOK_MS = 20;
const APPLIED = 'muster_watch_cache_applied_revision';

/**
 * Puts an older state of etcd under replicas that run, and lets it grow past the revision that they have seen. In words
 * what they did wrong; empty when every one of them noticed, left the rotation, listed anew, and answered correctly.
 */
export async function judgeRestore(etcd: string): Promise<readonly string[]> {
  await using world = await World.start({ etcd, quick: true });
  const ending = new AbortController();
  let faults: readonly string[] = [];
  const job = async (worker: Worker): Promise<void> => {
    faults = await scenario(world, worker);
  };
  await work('restore', job, { replicas: world, recorder: world.recorder, random: seeded(1), signal: ending.signal });
  return faults;
}

interface Daemon {
  readonly owner: Owner;
  readonly app: string;
  readonly own: OwnCredential;
}

async function scenario(world: World, worker: Worker): Promise<readonly string[]> {
  const owner = await newOwner(worker);
  const kept = owner && (await enrolled(worker, owner));
  await keepCopy(world.cluster);
  const lost = owner && (await enrolled(worker, owner));
  if (!owner || !kept || !lost) return ['nothing could be enrolled'];
  const before = await statuses(worker, { owner, ...lost });
  if (before.some((status) => status !== 200)) return [`before the restore a daemon was answered ${before.join()}`];
  // A memory that has not seen what is about to be undone has nothing to forget.
  const { revision } = await world.store.head();
  const follows = async (replica: Replica): Promise<boolean> =>
    (await took(async () => (await replica.metric(APPLIED)) >= revision, NOTICED_MS_MAX)) < Number.POSITIVE_INFINITY;
  if (!(await Promise.all(world.replicas.map(follows))).every(Boolean)) return ['a replica does not follow the store'];
  const relists = await Promise.all(world.replicas.map((replica) => replica.metric(RELISTS)));

  const wires = world.replicas.flatMap((replica) => replica.wires);
  await Promise.all(wires.map((wire) => wire.refuse()));
  await putCopyBack(world.cluster);
  await growPast(world.store, revision);
  const watching = Promise.all(world.replicas.map((replica, n) => looksAt(replica, relists[n] ?? 0, NOTICED_MS_MAX)));
  await Promise.all(wires.map((wire) => wire.accept()));
  const accepted = acceptedUntil(watching, worker, { owner, ...lost });
  const left = (await watching).flatMap((looks, n) =>
    rotationFaults(looks, relists[n] ?? 0).map((words) => `replica ${n} ${words}`),
  );
  const after = await statuses(worker, { owner, ...kept });
  const wrong = after.flatMap((status, n) =>
    status === 200 ? [] : [`replica ${n} answered ${status} to who is enrolled`],
  );
  return [...left, ...(await accepted), ...wrong];
}

/** The answers of each replica to the daemon. */
async function statuses(worker: Worker, { owner, app, own }: Daemon): Promise<readonly number[]> {
  const asked = Array.from({ length: REPLICAS }, (_, replica) => worker.send(poll(owner, app, own), replica));
  return (await Promise.all(asked)).map(({ status }) => status);
}

/** The replicas that accept a daemon which the restored store has never known, until the end; each once. */
async function acceptedUntil(over: Promise<unknown>, worker: Worker, lost: Daemon): Promise<readonly string[]> {
  const accepted = new Set<string>();
  for (let done = false; !done; await hold(LOOK_MS)) {
    done = await Promise.race([over.then(() => true), hold(0).then(() => false)]);
    for (const [n, status] of (await statuses(worker, lost)).entries()) {
      if (status === 200) accepted.add(`replica ${n} accepted what the store never knew`);
    }
  }
  return [...accepted];
}

const COPY = 'copy';

async function keepCopy(cluster: EtcdCluster): Promise<void> {
  await Promise.all(cluster.members.map((member) => member.stop()));
  for (const [n] of cluster.members.entries()) {
    cpSync(join(cluster.directory, `m${n}`), join(cluster.directory, COPY, `m${n}`), { recursive: true });
  }
  await Promise.all(cluster.members.map((member) => member.start()));
}

async function putCopyBack(cluster: EtcdCluster): Promise<void> {
  await Promise.all(cluster.members.map((member) => member.kill()));
  for (const [n] of cluster.members.entries()) {
    rmSync(join(cluster.directory, `m${n}`), { recursive: true });
    cpSync(join(cluster.directory, COPY, `m${n}`), join(cluster.directory, `m${n}`), { recursive: true });
  }
  await Promise.all(cluster.members.map((member) => member.start()));
}

/** Grows the restored store past the old revision, so that a revision alone does not show that the history differs. */
async function growPast(store: Store, revision: number): Promise<void> {
  let n = 0;
  const isPast = async (): Promise<boolean> => {
    for (; (await store.head()).revision <= revision; n += 1) {
      const key = `chaos/${n}`;
      await store.commit({ expect: [expectAbsent(key)], write: [{ put: rawKey(key), value: '' }] });
    }
    return true;
  };
  // No member leads for the first second.
  await took(isPast, NOTICED_MS_MAX);
}
