import { LIMITS } from '../../../src/domain/limits.ts';
import { fill, makeRoom } from '../cluster/etcd-admin.ts';
import type { Replica } from '../cluster/replica.ts';
import { hold, took, type Fault } from './fault.ts';

const NOTICED_MS_MAX = 60_000;

const isRoomy = async (replica: Replica): Promise<boolean> =>
  (await replica.metric('muster_store_fullness_ratio')) < LIMITS.storeFullnessMax;

/** etcd is full and refuses every write, until an operator makes room. */
export const noSpace: Fault = {
  name: 'no-space',
  async strike(world, { holdMs }) {
    const { cluster, replicas } = world;
    await fill(cluster.member);
    await hold(holdMs);
    await world.followed();
    await makeRoom(cluster);
    // Writes that grow the store are refused until a replica has read how full it is.
    const value = await took(async () => (await Promise.all(replicas.map(isRoomy))).every(Boolean), NOTICED_MS_MAX);
    return { figures: [{ name: 'room noticed', value, unit: 'ms' }] };
  },
};
