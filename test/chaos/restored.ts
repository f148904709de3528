import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ABSENT, type Store } from '../../src/store/port.ts';
import type { EtcdCluster } from '../support/etcd.ts';
import { poll, type Owner, type OwnCredential } from './calls.ts';
import { hold, took } from './nemesis/fault.ts';
import type { Replica } from './replica.ts';
import { seeded } from './random.ts';
import { enrolled } from './workload/configs.ts';
import { newOwner, REPLICAS, work, type Worker } from './workload/worker.ts';
import { World } from './world.ts';

const NOTICED_MS_MAX = 60_000;
/** Slow enough that a listing takes a while, and can be seen from outside. */
const WIRE_MS = 20;
const LOOK_MS = 20;
const APPLIED = 'muster_directory_applied_revision';
const RELISTS = 'muster_directory_relists_total';

/**
 * Puts an older state of etcd under replicas that run, and lets it grow past the revision that they have seen. In words
 * what they did wrong; empty when every one of them noticed, left the rotation, listed anew, and told the truth.
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
  for (const wire of wires) wire.delayMs = WIRE_MS;
  const seen = watchReadiness(world.replicas);
  await Promise.all(wires.map((wire) => wire.accept()));
  const noticing = world.replicas.map((replica, n) => noticed(replica, relists[n] ?? 0));
  const accepted: string[] = [];
  const looking = (async () => {
    for (let done = false; !done; await hold(LOOK_MS)) {
      done = await Promise.race([Promise.all(noticing).then(() => true), hold(0).then(() => false)]);
      const answers = await statuses(worker, { owner, ...lost });
      accepted.push(
        ...answers.flatMap((status, n) => (status === 200 ? [`replica ${n} accepted what the store never knew`] : [])),
      );
    }
  })();
  const words = (await Promise.all(noticing)).flatMap((notice, n) =>
    notice ? [] : [`replica ${n} did not list anew`],
  );
  await looking;
  const left = seen().flatMap((hasLeft, n) => (hasLeft ? [] : [`replica ${n} did not leave the rotation`]));
  const after = await statuses(worker, { owner, ...kept });
  const wrong = after.flatMap((status, n) =>
    status === 200 ? [] : [`replica ${n} answered ${status} to who is enrolled`],
  );
  return [...words, ...left, ...new Set(accepted), ...wrong];
}

/** What each replica answers to the daemon. */
async function statuses(worker: Worker, { owner, app, own }: Daemon): Promise<readonly number[]> {
  const asked = Array.from({ length: REPLICAS }, (_, replica) => worker.send(poll(owner, app, own), replica));
  return (await Promise.all(asked)).map(({ status }) => status);
}

async function noticed(replica: Replica, before: number): Promise<boolean> {
  const isBack = async (): Promise<boolean> => (await replica.metric(RELISTS)) > before && (await replica.isReady());
  return (await took(isBack, NOTICED_MS_MAX)) < Number.POSITIVE_INFINITY;
}

/** @returns ends the watching, and tells which were seen not to be ready */
function watchReadiness(replicas: readonly Replica[]): () => readonly boolean[] {
  const left = replicas.map(() => false);
  const over = new AbortController();
  const watch = async (replica: Replica, n: number): Promise<void> => {
    while (!over.signal.aborted) {
      if (!(await replica.isReady())) left[n] = true;
      await hold(LOOK_MS);
    }
  };
  for (const [n, replica] of replicas.entries()) void watch(replica, n);
  return () => {
    over.abort();
    return left;
  };
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

/** So that a revision alone does not tell that the past is another one. */
async function growPast(store: Store, revision: number): Promise<void> {
  let n = 0;
  const isPast = async (): Promise<boolean> => {
    for (; (await store.head()).revision <= revision; n += 1) {
      const key = `chaos/${n}`;
      await store.commit({ expect: [{ key, revision: ABSENT }], write: [{ put: key, value: '' }] });
    }
    return true;
  };
  // No member leads for the first second.
  await took(isPast, NOTICED_MS_MAX);
}
