import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';

import { hashOf, offered, OpampAgent } from '../../support/opamp/agent.ts';
import { setOtel } from '../../support/service/daemon.ts';
import { createApp, enroll, tenant, type Muster, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';

onEachBackend('an agent of OpAMP', (backend) => {
  let muster: Muster;
  beforeAll(async () => {
    muster = await backend.fresh();
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  async function agent(owner: Tenant) {
    const app = await createApp(muster, owner.apiKey);
    const credential = await enroll(muster, app);
    return Object.assign(new OpampAgent(muster.device, credential), { appId: app.appId, credential });
  }

  test('gets the configuration, acknowledges it and is not offered it again', async () => {
    const owner = await tenant(muster);
    await setOtel(muster, owner.apiKey, { authHeader: 'Api-Key: ${env:HOME} "\'#: $$' });
    const one = await agent(owner);
    const first = await one.start();
    const { exporters } = parse(offered(first) ?? '') as { exporters: Record<string, unknown> };
    expect(exporters).toEqual({
      'otlphttp/muster': {
        endpoint: 'https://otel.example.com',
        headers: { 'Api-Key': '$${env:HOME} "\'#: $$$$' },
      },
    });
    const then = await one.acknowledge(first);
    expect(then.remoteConfig).toBeUndefined();
    expect((await one.say()).remoteConfig).toBeUndefined();
    expect(hashOf(first)).toMatch(/^1-/);
  });
});
