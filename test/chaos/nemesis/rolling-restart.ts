import type { Replica } from '../cluster/replica.ts';
import { throughput } from '../measure.ts';
import { seeded, whole } from '../random.ts';
import { steady, STEADY } from '../workload/steady.ts';
import { work } from '../workload/worker.ts';
import { hold, type Fault } from './fault.ts';

const PROBE_MS = 100;
/** The least share of the wanted rate: a machine that is busy elsewhere sends a little less. */
const RATE_SHARE_MIN = 0.9;

/** Every replica is replaced by SIGTERM, one after the other, behind a load balancer that asks for readiness. */
export const rollingRestart: Fault = {
  name: 'rolling-restart',
  async strike(world, { rollingPerSecond, steadyMs }, random) {
    const ending = new AbortController();
    const rotation = new Set(world.replicas.map(({ number }) => number));
    const probers = world.replicas.map((replica) => probe(replica, rotation, ending.signal));
    const deps = {
      replicas: world,
      recorder: world.recorder,
      random: seeded(whole(random, 2 ** 31)),
      signal: ending.signal,
    };
    let unserved = 0;
    const load = work(
      STEADY,
      steady(
        rollingPerSecond,
        () => [...rotation],
        () => (unserved += 1),
      ),
      deps,
    );
    await hold(steadyMs);
    const from = world.recorder.now();
    const codes: unknown[] = [];
    for (const replica of world.replicas) {
      codes.push(await replica.restart('SIGTERM'));
      await hold(steadyMs);
    }
    const done = throughput(world.recorder, from, world.recorder.now(), (name) => name === STEADY);
    ending.abort();
    await Promise.all([load, ...probers]);
    return {
      figures: [
        { name: 'failed requests', value: done.failed + unserved, unit: 'requests', limit: 0 },
        { name: 'while the suite stood still', value: done.excused, unit: 'requests' },
        {
          name: 'answered well',
          value: done.perSecond,
          unit: 'requests/s',
          limit: rollingPerSecond * RATE_SHARE_MIN,
          atLeast: true,
        },
      ],
      violations: codes.filter((code) => code !== 0).map((code) => `a replica ended with ${String(code)} on SIGTERM`),
    };
  },
};

/** Probes each replica by itself, as a load balancer does. */
async function probe(replica: Replica, rotation: Set<number>, signal: AbortSignal): Promise<void> {
  for (; !signal.aborted; await hold(PROBE_MS)) {
    if (await replica.isReady()) rotation.add(replica.number);
    else rotation.delete(replica.number);
  }
}
