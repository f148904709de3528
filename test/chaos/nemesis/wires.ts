import type { Flow } from '../../support/etcd/tcp-proxy.ts';
import { compactAll } from '../cluster/etcd-admin.ts';
import type { Replica } from '../cluster/replica.ts';
import type { World } from '../cluster/world.ts';
import { whole } from '../random.ts';
import { hold, took, type Fault } from './fault.ts';

const LIVE_MS_MAX = 30_000;

/** All connections between replicas and etcd are cut, and new ones refused, for a while. */
export const allCut: Fault = {
  name: 'all-cut',
  limits: { recoveryMs: 5000 },
  async strike({ replicas }, { cutMs }) {
    const wires = replicas.flatMap((replica) => replica.wires);
    await Promise.all(wires.map((wire) => wire.refuse()));
    await hold(cutMs);
    await Promise.all(wires.map((wire) => wire.accept()));
    return {};
  },
};

/** Milliseconds until the replica's memory has reached what the store was at some moment since the call. */
async function liveAgain({ store }: World, replica: Replica): Promise<number> {
  const { revision } = await store.head();
  const isLive = async (): Promise<boolean> => (await replica.metric('muster_watch_cache_applied_revision')) > revision;
  return await took(isLive, LIVE_MS_MAX);
}

/** Every connection of a replica that there is falls silent, as when a firewall forgets it; new ones work. */
export const flowDropped: Fault = {
  name: 'flow-dropped',
  async strike(world, _, random) {
    const replica = world.replicas[whole(random, world.replicas.length)];
    if (!replica) return {};
    for (const wire of replica.wires) wire.silenceFlows('everything');
    const value = await liveAgain(world, replica);
    return { figures: [{ name: 'watch live again', value, unit: 'ms', limit: 10_000 }] };
  },
};

/** The history that a replica's watch would go on from is compacted while the replica hears nothing. */
export const compacted: Fault = {
  name: 'compacted',
  async strike(world, _, random) {
    const replica = world.replicas[whole(random, world.replicas.length)];
    if (!replica) return {};
    const before = await replica.metric(RELISTS);
    for (const wire of replica.wires) wire.silenceFlows('everything');
    const { revision } = await world.store.head();
    await took(async () => (await world.store.head()).revision > revision, LIVE_MS_MAX);
    await world.followed();
    await compactAll(world.cluster.member);
    for (const wire of replica.wires) wire.cut();
    const value = await liveAgain(world, replica);
    const relisted = (await replica.metric(RELISTS)) > before;
    return {
      figures: [{ name: 'watch live again', value, unit: 'ms', limit: 2000 }],
      violations: relisted ? [] : ['the replica was not made to list anew: the fault did not strike'],
    };
  },
};
const RELISTS = 'muster_watch_cache_relists_total';

const ROUNDS = 6;
const UNANSWERED_MS = 60;
const BETWEEN_MS = 480;

/** Answers of etcd get lost and their connections reset, while what was asked for is carried out. */
export const answersLost: Fault = {
  name: 'answers-lost',
  async strike({ replicas }) {
    for (let round = 0; round < ROUNDS; round += 1) {
      await allLost(replicas);
      await hold(BETWEEN_MS);
      for (let half = 0; half < 2; half += 1) {
        await Promise.all(replicas.map((replica) => mutationLost(replica)));
        await hold(BETWEEN_MS / 2);
      }
    }
    return {};
  },
};

/** Whatever is under way: mostly reads, since few requests come past theirs in that time. */
async function allLost(replicas: readonly Replica[]): Promise<void> {
  const wires = replicas.flatMap((replica) => replica.wires);
  for (const wire of wires) wire.silenceFlows('answers');
  await hold(UNANSWERED_MS);
  for (const wire of wires) wire.cut();
}

/** In a request to etcd this stands for the put of an audit entry: gRPC sends strings as they are. */
const MUTATION = '"action":"';
const MUTATION_MS_MAX = 1000;

/** The next mutation is carried out and its answer is lost, on that connection alone: the others stand. */
async function mutationLost({ wires }: Replica): Promise<void> {
  let lost: Flow | undefined;
  for (const wire of wires) {
    wire.heard = (flow, bytes) => {
      if (lost !== undefined || !bytes.includes(MUTATION)) return;
      lost = flow;
      flow.silence = 'answers';
    };
  }
  await took(async () => lost !== undefined, MUTATION_MS_MAX);
  for (const wire of wires) wire.heard = undefined;
  await hold(UNANSWERED_MS);
  for (const wire of wires) wire.cut((flow) => flow === lost);
}
