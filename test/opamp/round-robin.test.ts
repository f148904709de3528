import { randomUUID } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { ElasticAgent } from '../support/opamp/elastic-agent.ts';
import { rolloutOf } from '../support/opamp/fleet.ts';
import { enrolledApp, setExport } from '../support/opamp/owner.ts';
import { RoundRobin } from '../support/opamp/round-robin.ts';
import { Muster, tenant } from '../support/service/muster.ts';
import { until } from '../support/time/until.ts';

/*
 * Behind a balancer no replica sees two messages of an agent in a row, so none of them knows whether one is missing.
 * The state of the agent lies in the store.
 */

const url = inject('etcd');
const REPLICAS = 3;
const AGENTS = 3;
/** Messages that each replica has answered by the end. */
const ANSWERS = 15;

describe.skipIf(url === undefined)('agents behind a balancer without keep-alive', () => {
  test('are asked for their full state once at most, and have what they should', async () => {
    await using started = new AsyncDisposableStack();
    const shared = {
      store: `etcd:${url}`,
      env: { MUSTER_ETCD_PREFIX: `/${randomUUID()}/`, MUSTER_DEVICE_RATE_PER_MINUTE: '100000' },
    };
    const replicas: Muster[] = [];
    while (replicas.length < REPLICAS) replicas.push(started.use(await Muster.start(shared)));
    const [muster] = replicas as [Muster];
    const balancer = started.use(await RoundRobin.before(replicas.map(({ device }) => device)));

    const owner = await tenant(muster);
    await setExport(muster, owner, { authHeader: 'Bearer first' });
    const agents: ElasticAgent[] = [];
    while (agents.length < AGENTS) {
      const { credential } = await enrolledApp(muster, owner);
      agents.push(started.use(new ElasticAgent(`${balancer.url}/v1/opamp`, credential)));
    }
    await until(async () => (await rolloutOf(muster, owner))['applied'] === AGENTS);
    await setExport(muster, owner, { authHeader: 'Bearer second' });
    await until(async () => (await rolloutOf(muster, owner))['applied'] === AGENTS);
    await until(() => balancer.answered.every((count) => count >= ANSWERS));

    for (const { fullStates, configs, failures } of agents) {
      expect(fullStates).toBeLessThanOrEqual(1);
      expect(configs).toHaveLength(2);
      expect(failures).toEqual([]);
    }
  });
});
