import { afterAll, beforeAll, expect, test } from 'vitest';
import { ElasticAgent } from '../support/opamp/elastic-agent.ts';
import { rolloutOf } from '../support/opamp/fleet.ts';
import { audited, enrolledApp, exporterIn, opampUrl, purge, revokeApp, setExport } from '../support/opamp/owner.ts';
import { readApp } from '../support/service/daemon.ts';
import type { Muster } from '../support/service/muster.ts';
import { onEachBackend } from '../support/store/backends.ts';
import { until } from '../support/time/until.ts';

/** The client waits for 0.1 s between two messages. */
const ENV = { MUSTER_DEVICE_RATE_PER_MINUTE: '100000' };

onEachBackend("Elastic's OpAMP client for Node", (backend) => {
  let muster: Muster;
  beforeAll(async () => {
    muster = await backend.fresh({ env: ENV });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  test('receives the configuration and acknowledges it, and sees a change at its next poll', async () => {
    const app = await enrolledApp(muster);
    await setExport(muster, app, { authHeader: 'Bearer first' });
    expect(await rolloutOf(muster, app)).toMatchObject({ devices: 1, applied: 0, pending: 1 });
    await using agent = new ElasticAgent(opampUrl(muster), app.credential);

    await until(() => agent.configs.length === 1);
    expect(agent.configs[0]?.contentType).toBe('text/yaml');
    expect(exporterIn(agent.configs[0]?.text ?? '')).toEqual({
      endpoint: 'https://otel.example.com',
      headers: { Authorization: 'Bearer first' },
    });
    await until(async () => (await rolloutOf(muster, app))['applied'] === 1);
    await until(async () => (await readApp(muster, app.apiKey, app.appId))['agentVersion'] === '1.2.3');
    expect(await readApp(muster, app.apiKey, app.appId)).toMatchObject({ status: 'active', platform: 'linux' });

    await setExport(muster, app, { endpoint: 'https://other.example.com', authHeader: 'X-Token: $2nd' });
    const { answers } = agent;
    await until(() => agent.configs.length === 2);
    expect(exporterIn(agent.configs[1]?.text ?? '')).toEqual({
      endpoint: 'https://other.example.com',
      headers: { 'X-Token': '$2nd' },
    });
    // A message that was under way has the configuration before.
    expect(agent.configs[1]?.answersBefore).toBeLessThanOrEqual(answers + 1);
    await until(async () => (await rolloutOf(muster, app))['applied'] === 1);

    await purge(muster, app);
    await until(() => agent.configs.length === 3);
    expect(exporterIn(agent.configs[2]?.text ?? '')).toBeUndefined();
    await until(async () => (await rolloutOf(muster, app))['applied'] === 1);
    // Each change was sent once: an agent that has it is not sent it again.
    const before = agent.answers;
    await until(() => agent.answers > before + 2);
    expect(agent.configs).toHaveLength(3);
    expect(agent.failures).toEqual([]);
  });

  test('is refused at once when its app is revoked, and so is whoever comes with the credential later', async () => {
    const app = await enrolledApp(muster);
    await setExport(muster, app);
    await using agent = new ElasticAgent(opampUrl(muster), app.credential);
    await until(() => agent.configs.length === 1);

    await revokeApp(muster, app);
    const { answers } = agent;
    await until(() => agent.failures.length > 0);
    expect(agent.failures).toEqual(['unexpected OpAMP response: statusCode=401']);
    // One message may have been under way.
    expect(agent.answers).toBeLessThanOrEqual(answers + 1);
    await setExport(muster, app, { endpoint: 'https://other.example.com' });

    await using another = new ElasticAgent(opampUrl(muster), app.credential);
    await until(() => another.failures.length > 0);
    expect(another.failures).toEqual(['unexpected OpAMP response: statusCode=401']);
    expect([another.answers, another.configs, agent.configs.length]).toEqual([0, [], 1]);
    expect(await audited(muster, app, 'app.revoked')).toHaveLength(1);
  });
});
