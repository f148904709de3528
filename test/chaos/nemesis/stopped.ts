import { roles } from '../cluster/etcd-admin.ts';
import { whole } from '../random.ts';
import { hold, type Fault } from './fault.ts';

/** The leader of etcd stands still: connections to it stand, and nothing comes. */
export const leaderStopped: Fault = {
  name: 'leader-stopped',
  limits: { writeGapMs: 5000 },
  async strike({ cluster }, { holdMs }) {
    const { leader } = await roles(cluster);
    leader.freeze();
    await hold(holdMs);
    leader.thaw();
    return {};
  },
};

/** A replica stands still and goes on as if no time had passed: what it believed is old. */
export const replicaStopped: Fault = {
  name: 'replica-stopped',
  async strike({ replicas }, { holdMs }, random) {
    await replicas[whole(random, replicas.length)]?.stopped(() => hold(holdMs));
    return {};
  },
};
