import { faultsOf } from '../checkers/half-written.ts';
import type { Fault } from './fault.ts';

/** Replicas die in the middle of requests, one after the other; the store is judged as a whole after each. */
export const replicaKilled: Fault = {
  name: 'replica-killed',
  async strike(world, { kills }) {
    const faults: string[] = [];
    let half = 0;
    for (let kill = 0; kill < kills; kill += 1) {
      await world.replicas[kill % world.replicas.length]?.restart('SIGKILL', async () => {
        const found = faultsOf(await world.readState());
        if (found.length > 0) half += 1;
        faults.push(...found.map((words) => `after kill ${kill + 1}: ${words}`));
      });
    }
    return {
      figures: [{ name: `half-written states of ${kills}`, value: half, unit: 'states', limit: 0 }],
      violations: faults,
    };
  },
};
