import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rolloutOf } from '../../support/opamp/fleet.ts';
import { audited, enrolledApp, exporterIn, opampUrl, purge, revokeApp, setExport } from '../../support/opamp/owner.ts';
import { findPythonClient, NO_PYTHON_CLIENT } from '../../support/opamp/peers.ts';
import { PythonAgent } from '../../support/opamp/python-agent.ts';
import { metric, readApp } from '../../support/service/daemon.ts';
import { Muster } from '../../support/service/muster.ts';
import { until } from '../../support/time/until.ts';

const python = findPythonClient();
const TITLE = "OpenTelemetry's OpAMP client for Python";
const REVOKED = 'muster_authentication_failures_total{credential="device_credential",reason="unknown"}';

describe.skipIf(python === undefined)(python === undefined ? `${TITLE} (${NO_PYTHON_CLIENT})` : TITLE, () => {
  let muster: Muster;
  beforeAll(async () => {
    // The client waits for 0.2 s between two messages.
    muster = await Muster.start({ env: { MUSTER_DEVICE_RATE_PER_MINUTE: '100000' } });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  test('receives, acknowledges, sees a change at its next poll, and is refused at once when revoked', async () => {
    const app = await enrolledApp(muster);
    await setExport(muster, app, { authHeader: 'Bearer first' });
    await using agent = new PythonAgent(python ?? '', opampUrl(muster), app.credential);

    await until(() => agent.configs.length === 1);
    expect(agent.configs[0]?.contentType).toBe('text/yaml');
    expect(exporterIn(agent.configs[0]?.text ?? '')).toEqual({
      endpoint: 'https://otel.example.com',
      headers: { Authorization: 'Bearer first' },
    });
    await until(async () => (await rolloutOf(muster, app))['applied'] === 1);
    await until(async () => (await readApp(muster, app.apiKey, app.appId))['agentVersion'] === '4.5.6');

    await setExport(muster, app, { endpoint: 'https://other.example.com', authHeader: 'X-Token: $2nd' });
    const { answers } = agent;
    await until(() => agent.configs.length === 2);
    expect(exporterIn(agent.configs[1]?.text ?? '')).toEqual({
      endpoint: 'https://other.example.com',
      headers: { 'X-Token': '$2nd' },
    });
    // The lines of two messages that were answered before may still have been on their way from its process.
    expect(agent.configs[1]?.answersBefore).toBeLessThanOrEqual(answers + 2);
    await until(async () => (await rolloutOf(muster, app))['applied'] === 1);

    await purge(muster, app);
    await until(() => agent.configs.length === 3);
    expect(exporterIn(agent.configs[2]?.text ?? '')).toBeUndefined();
    expect(agent.failures).toEqual([]);

    await revokeApp(muster, app);
    const before = { answers: agent.answers, refused: await metric(muster, REVOKED) };
    await until(() => agent.failures.length > 0);
    expect(agent.failures[0]).toContain('401 Client Error');
    expect(agent.answers).toBeLessThanOrEqual(before.answers + 2);
    await until(async () => (await metric(muster, REVOKED)) > before.refused);
    expect(await audited(muster, app, 'app.revoked')).toHaveLength(1);
    expect(agent.configs).toHaveLength(3);
  });

  test('says that it ends', async () => {
    const app = await enrolledApp(muster);
    await using agent = new PythonAgent(python ?? '', opampUrl(muster), app.credential);
    await until(() => agent.answers > 0);
    await agent.stop();
    expect([agent.isStopped, agent.failures]).toEqual([true, []]);
  });
});
