import { roles } from '../cluster/etcd-admin.ts';
import { hold, type Fault } from './fault.ts';

/** The leader of etcd dies without warning, and comes back on its data. */
export const leaderKilled: Fault = {
  name: 'leader-killed',
  limits: { writeGapMs: 5000 },
  async strike({ cluster }, { holdMs }) {
    const { leader } = await roles(cluster);
    await leader.kill();
    await hold(holdMs);
    await leader.start();
    return {};
  },
};

export const followerKilled: Fault = {
  name: 'follower-killed',
  async strike({ cluster }, { holdMs }, random) {
    const { followers } = await roles(cluster);
    const follower = followers[random() < 0.5 ? 0 : 1];
    await follower?.kill();
    await hold(holdMs);
    await follower?.start();
    return {};
  },
};

/** Two of three are gone: nothing can be written, and nothing be read for certain, until one is back. */
export const quorumLost: Fault = {
  name: 'quorum-lost',
  async strike({ cluster }, { holdMs }) {
    const [one, two] = cluster.members;
    await Promise.all([one?.kill(), two?.kill()]);
    await hold(holdMs);
    await Promise.all([one?.start(), two?.start()]);
    return {};
  },
};
