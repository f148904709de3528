import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { AGENT_CAN } from '../../../src/opamp/capabilities.ts';
import { RemoteConfigStatuses } from '../../../src/opamp/generated/opamp_pb.ts';
import { hashOf, offered, OpampAgent, REPORTS } from '../../support/opamp/agent.ts';
import { rolloutOf, startedAgent } from '../../support/opamp/fleet.ts';
import { changeAccount, issueCode, purgeOtel, setOtel } from '../../support/service/daemon.ts';
import { enroll, tenant, type Muster, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const { APPLYING, APPLIED, FAILED } = RemoteConfigStatuses;

onEachBackend('the configuration of an agent', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh({ clock });
  });
  afterAll(() => muster[Symbol.asyncDispose]());
  const enterprise = async (): Promise<Tenant> => (owner = await tenant(muster));
  const agentOf = (of: Tenant = owner) => startedAgent(muster, of);

  const exporterIn = (text: string | undefined): unknown =>
    (parse(text ?? '') as { exporters?: Record<string, unknown> }).exporters?.['otlp_http/muster'];

  test('is offered once, and acknowledged it is applied in the rollout', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey, { authHeader: 'collector-secret' });
    const { agent, first } = await agentOf();
    expect(exporterIn(offered(first))).toEqual({
      endpoint: 'https://otel.example.com',
      headers: { Authorization: 'collector-secret' },
    });
    expect(first.remoteConfig?.config?.configMap['']?.contentType).toBe('text/yaml');
    expect(await rolloutOf(muster, owner)).toMatchObject({ applied: 0, pending: 1 });
    expect((await agent.acknowledge(first, APPLYING)).remoteConfig).toBeUndefined();
    expect(await rolloutOf(muster, owner)).toMatchObject({ applied: 0, pending: 1 });
    expect((await agent.acknowledge(first)).remoteConfig).toBeUndefined();
    expect(await rolloutOf(muster, owner)).toMatchObject({
      applied: 1,
      pending: 0,
      acknowledged: [{ revision: 1, applied: 1, failed: 0 }],
    });
    expect((await agent.say()).remoteConfig).toBeUndefined();
  });

  test('an agent that was set back to an older one is pending until it acknowledges anew', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey);
    const { agent, first } = await agentOf();
    await agent.acknowledge(first);
    await setOtel(muster, owner.apiKey, { endpoint: 'https://other.example.com' });
    const second = await agent.say();
    await agent.acknowledge(second);
    expect(await rolloutOf(muster, owner)).toMatchObject({ revision: 2, applied: 1, pending: 0 });
    clock.jump(120_000);
    const again = await agent.acknowledge(first);
    expect(hashOf(again)).toBe(hashOf(second));
    expect(await rolloutOf(muster, owner)).toMatchObject({ revision: 2, applied: 0, pending: 1 });
    await agent.acknowledge(again);
    expect(await rolloutOf(muster, owner)).toMatchObject({ revision: 2, applied: 1, pending: 0 });
  });

  test('a change is offered at the next poll, under another hash; so is a purge, as the empty one', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey, { authHeader: 'collector-secret' });
    const { agent, first } = await agentOf();
    await agent.acknowledge(first);
    await setOtel(muster, owner.apiKey, { endpoint: 'https://other.example.com' });
    const second = await agent.say();
    expect(exporterIn(offered(second))).toMatchObject({ endpoint: 'https://other.example.com' });
    expect(hashOf(second)).not.toBe(hashOf(first));
    await agent.acknowledge(second);
    await purgeOtel(muster, owner.apiKey);
    const third = await agent.say();
    expect(offered(third)).toBe('{}\n');
    await agent.acknowledge(third);
    expect((await agent.say()).remoteConfig).toBeUndefined();
    expect(await rolloutOf(muster, owner)).toMatchObject({ revision: 3, applied: 1 });
  });

  test('a disabled one is the empty one, and nothing of the header is in it', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey, { authHeader: 'collector-secret' });
    await setOtel(muster, owner.apiKey, { enabled: false });
    const { first } = await agentOf();
    expect(offered(first)).toBe('{}\n');
    expect(Buffer.from(first.remoteConfig?.configHash ?? []).toString()).toMatch(/^2-[\w-]+~[\w-]{12}~[0-9a-z]+$/);
  });

  test('a downgraded account’s agents get the never-stored one, and the stored one again afterwards (O11)', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey);
    const { agent, first } = await agentOf();
    await agent.acknowledge(first);
    await changeAccount(muster, owner.accountId, { entitlement: 'standard' });
    const downgraded = await agent.say();
    expect([offered(downgraded), hashOf(downgraded).slice(0, 2)]).toEqual(['{}\n', '0~']);
    await agent.acknowledge(downgraded);
    await changeAccount(muster, owner.accountId, { entitlement: 'enterprise' });
    expect(hashOf(await agent.say())).toBe(hashOf(first));
  });

  test('while nothing was ever stored an agent without a configuration is left alone; one of another server is emptied', async () => {
    await enterprise();
    const { agent, first } = await agentOf();
    expect(first.remoteConfig).toBeUndefined();
    expect(await rolloutOf(muster, owner)).toMatchObject({ revision: 0, applied: 1 });
    const foreign = await agent.say({
      remoteConfigStatus: { lastRemoteConfigHash: Buffer.from([0, 255, 3]), status: APPLIED },
    });
    expect(offered(foreign)).toBe('{}\n');
  });

  test('one that it could not load is offered as the empty one, once, until the revision changes', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey);
    const { agent, first } = await agentOf();
    const emptied = await agent.acknowledge(first, FAILED, 'unknown exporter');
    expect([offered(emptied), hashOf(emptied)]).toEqual(['{}\n', `${hashOf(first)}~empty`]);
    expect((await agent.acknowledge(emptied)).remoteConfig).toBeUndefined();
    expect((await agent.say()).remoteConfig).toBeUndefined();
    expect(await rolloutOf(muster, owner)).toMatchObject({
      failed: 1,
      applied: 0,
      failures: [{ error: 'unknown exporter', emptied: true }],
      acknowledged: [{ revision: 1, applied: 0, failed: 1 }],
    });
    // It starts anew and has forgotten everything: the one that failed is not tried again.
    agent.sequence = 0n;
    expect(offered(await agent.start())).toBe('{}\n');
    await setOtel(muster, owner.apiKey, { endpoint: 'https://mended.example.com' });
    const next = await agent.say();
    expect(exporterIn(offered(next))).toMatchObject({ endpoint: 'https://mended.example.com' });
    await agent.acknowledge(next);
    expect(await rolloutOf(muster, owner)).toMatchObject({ failed: 0, applied: 1, failures: [] });
  });

  test('one that it could not load is tried once more after a downgrade and an upgrade, and the rollout says how that went', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey);
    const { agent, first } = await agentOf();
    await agent.acknowledge(await agent.acknowledge(first, FAILED, 'unknown exporter'));
    const offeredAgain = async () => {
      await changeAccount(muster, owner.accountId, { entitlement: 'standard' });
      await agent.acknowledge(await agent.say());
      await changeAccount(muster, owner.accountId, { entitlement: 'enterprise' });
      const again = await agent.say();
      expect(hashOf(again)).toBe(hashOf(first));
      expect(await rolloutOf(muster, owner)).toMatchObject({ pending: 1 });
      return again;
    };
    const emptied = await agent.acknowledge(await offeredAgain(), FAILED, 'still unknown');
    expect(hashOf(emptied)).toBe(`${hashOf(first)}~empty`);
    await agent.acknowledge(emptied);
    expect((await agent.say()).remoteConfig).toBeUndefined();
    // Neither the empty one in its place nor a restart leads to another try.
    agent.sequence = 0n;
    expect(offered(await agent.start())).toBe('{}\n');
    expect(await rolloutOf(muster, owner)).toMatchObject({
      failed: 1,
      pending: 0,
      failures: [{ error: 'still unknown', emptied: true }],
    });
    await agent.acknowledge(await offeredAgain());
    expect(await rolloutOf(muster, owner)).toMatchObject({ applied: 1, failed: 0, pending: 0 });
    expect((await agent.say()).remoteConfig).toBeUndefined();
  });

  test('it is tried once more, too, where the agent had nothing to give back while the account was downgraded', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey);
    const { agent, first } = await agentOf();
    await agent.acknowledge(first, FAILED, 'unknown exporter');
    await changeAccount(muster, owner.accountId, { entitlement: 'standard' });
    agent.sequence = 0n;
    expect((await agent.start()).remoteConfig).toBeUndefined();
    await changeAccount(muster, owner.accountId, { entitlement: 'enterprise' });
    expect(hashOf(await agent.say())).toBe(hashOf(first));
  });

  test('where the empty one fails, too, nothing more is offered', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey);
    const { agent, first } = await agentOf();
    const emptied = await agent.acknowledge(first, FAILED, 'broken');
    expect((await agent.acknowledge(emptied, FAILED, 'broken for good')).remoteConfig).toBeUndefined();
    expect((await agent.say()).remoteConfig).toBeUndefined();
    expect(await rolloutOf(muster, owner)).toMatchObject({ failures: [{ error: 'broken' }] });
  });

  test('one that came to work after all is applied, and stays', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey);
    const { agent, first } = await agentOf();
    await agent.acknowledge(first, FAILED, 'the port is taken');
    expect((await agent.acknowledge(first)).remoteConfig).toBeUndefined();
    expect(await rolloutOf(muster, owner)).toMatchObject({ failed: 0, applied: 1 });
  });

  test('an agent that takes no configuration is offered none; one that does not report is offered it once', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey);
    const { first } = await startedAgent(muster, owner, AGENT_CAN.reportStatus);
    expect(first.remoteConfig).toBeUndefined();
    const silent = await startedAgent(muster, owner, AGENT_CAN.reportStatus | AGENT_CAN.acceptRemoteConfig);
    expect(offered(silent.first)).toContain('https://otel.example.com');
    expect((await silent.agent.say()).remoteConfig).toBeUndefined();
    await setOtel(muster, owner.apiKey, { endpoint: 'https://other.example.com' });
    const changed = await silent.agent.say();
    expect(offered(changed)).toContain('https://other.example.com');
    expect((await silent.agent.say()).remoteConfig).toBeUndefined();
    // What an agent says against its own capabilities does not count.
    expect((await silent.agent.acknowledge(changed, FAILED, 'broken')).remoteConfig).toBeUndefined();
    expect(await rolloutOf(muster, owner)).toMatchObject({ failed: 0 });
  });

  test('capabilities count as they are now', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey);
    const { agent } = await startedAgent(muster, owner, AGENT_CAN.reportStatus);
    agent.capabilities = REPORTS;
    expect(offered(await agent.say({ remoteConfigStatus: {} }))).toContain('https://otel.example.com');
  });

  test('the next machine of an app starts anew: what the former one had and could not load is forgotten', async () => {
    await enterprise();
    await setOtel(muster, owner.apiKey);
    const { agent, first, appId } = await agentOf();
    await agent.acknowledge(first, FAILED, 'broken');
    const next = new OpampAgent(muster.device, await enroll(muster, await issueCode(muster, owner.apiKey, appId)));
    expect(offered(await next.start())).toContain('https://otel.example.com');
    expect((await agent.send()).code).toBe('invalid_credential');
  });
});
