import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AGENT_CAN, REPORT_FULL_STATE, REQUEST_INSTANCE_UID } from '../../../src/opamp/capabilities.ts';
import { described, OpampAgent, REPORTS } from '../../support/opamp/agent.ts';
import { rolloutOf, startedAgent } from '../../support/opamp/fleet.ts';
import { auditOf, metric, readApp, setOtel } from '../../support/service/daemon.ts';
import { createApp, enroll, tenant, type Muster, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

onEachBackend('what an agent of OpAMP reports', (backend) => {
  let muster: Muster;
  let owner: Tenant;
  const clock = new FakeClock();
  beforeAll(async () => {
    muster = await backend.fresh({
      clock,
      env: { MUSTER_DEVICE_RATE_PER_MINUTE: '100000', MUSTER_POLL_INTERVAL_SECONDS: '60' },
    });
    owner = await tenant(muster);
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  test('version and platform go into the app, the contact into lastSeenAt', async () => {
    const { appId } = await startedAgent(muster, owner, REPORTS, {
      agentDescription: described({ 'service.version': '9.9', 'os.type': 'plan9', 'host.name': 'x' }),
    });
    await until(async () => (await readApp(muster, owner.apiKey, appId))['agentVersion'] === '9.9');
    const app = await readApp(muster, owner.apiKey, appId);
    expect(app).toMatchObject({ platform: 'plan9', agentVersion: '9.9', status: 'active' });
    expect(
      (await auditOf(muster, owner.accountId)).some(
        ({ action, appId: of }) => action === 'app.reported' && of === appId,
      ),
    ).toBe(true);
  });

  test.each([
    ['ünïcode\n', '?n?code?', 'what is not printable ASCII is told as a question mark'],
    ['v'.repeat(200), 'v'.repeat(128), 'a long one is cut'],
  ])('a version %j is kept as %j: %s', async (version, kept) => {
    const { appId } = await startedAgent(muster, owner, REPORTS, {
      agentDescription: described({ 'service.version': version }),
    });
    await until(async () => (await readApp(muster, owner.apiKey, appId))['agentVersion'] === kept);
    expect(await readApp(muster, owner.apiKey, appId)).toMatchObject({ agentVersion: kept, platform: 'linux' });
  });

  test('its health is in the rollout, with its words; a change replaces it', async () => {
    const own = await tenant(muster);
    const { agent, appId } = await startedAgent(muster, own);
    await agent.say({ health: { healthy: true } });
    expect(await rolloutOf(muster, own)).toMatchObject({ health: { healthy: 1, unhealthy: 0 }, unhealthy: [] });
    await agent.say({ health: { healthy: false, lastError: 'the queue is full' } });
    expect(await rolloutOf(muster, own)).toMatchObject({
      health: { healthy: 0, unhealthy: 1 },
      unhealthy: [{ appId, error: 'the queue is full' }],
    });
    await agent.say({ health: { healthy: false, lastError: 'é'.repeat(2000) } });
    const { unhealthy } = await rolloutOf(muster, own);
    expect(unhealthy).toMatchObject([{ error: 'é'.repeat(512) }]);
  });

  describe('the interval', () => {
    const heartbeats = REPORTS | AGENT_CAN.reportHeartbeat;

    test('is offered to an agent that sends heartbeats, with the spread of its app, and not with every answer', async () => {
      const { agent, first } = await startedAgent(muster, owner, heartbeats);
      const seconds = Number(first.connectionSettings?.opamp?.heartbeatIntervalSeconds);
      expect(seconds).toBeGreaterThanOrEqual(54);
      expect(seconds).toBeLessThanOrEqual(66);
      expect(first.connectionSettings?.opamp?.headers).toBeUndefined();
      await agent.say();
      expect((await agent.say()).connectionSettings).toBeUndefined();
    });

    test('is offered neither to one that sends none, nor, without a URL to offer, to one that takes settings whole', async () => {
      expect((await startedAgent(muster, owner)).first.connectionSettings).toBeUndefined();
      const whole = await startedAgent(muster, owner, heartbeats | AGENT_CAN.acceptConnectionSettings);
      expect(whole.first.connectionSettings).toBeUndefined();
    });
  });

  describe('the id of the instance', () => {
    test.each<[Uint8Array, bigint, string]>([
      [new Uint8Array(16), 0n, 'all zero'],
      [new Uint8Array(), 0n, 'missing'],
      [randomBytes(15), 0n, 'a byte too short'],
      [Buffer.from('01ARZ3NDEKTSV4RRFFQ69G5FAV'), 0n, 'an ULID as text'],
      [randomBytes(16), REQUEST_INSTANCE_UID, 'one that is meant to be replaced'],
    ])('%j with flags %s gets a new one (%s)', async (instanceUid, flags) => {
      const app = await createApp(muster, owner.apiKey);
      const agent = new OpampAgent(muster.device, await enroll(muster, app));
      agent.instanceUid = instanceUid;
      const answer = await agent.start({ flags });
      const uid = Buffer.from(answer.agentIdentification?.newInstanceUid ?? []);
      expect(uid.toString('hex')).toMatch(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
      expect(Buffer.from(answer.instanceUid).equals(instanceUid)).toBe(true);
    });

    test('one of its own is kept, and echoed', async () => {
      const { agent, first } = await startedAgent(muster, owner);
      expect(first.agentIdentification).toBeUndefined();
      expect(Buffer.from(first.instanceUid).equals(agent.instanceUid)).toBe(true);
    });

    test('two machines on one credential are told in audit, log and metric, once an hour', async () => {
      const own = await tenant(muster);
      const { agent, appId } = await startedAgent(muster, own);
      const told = async () =>
        (await auditOf(muster, own.accountId)).filter(({ action }) => action === 'credential.shared');
      const counted = (): Promise<number> => metric(muster, 'muster_opamp_shared_credentials_total');
      const before = await counted();
      const [one, other] = [agent.instanceUid, randomBytes(16)];
      // A restart: the other one never comes back.
      agent.instanceUid = other;
      await agent.start();
      await agent.say();
      expect(await told()).toEqual([]);
      for (const uid of [one, other, one, other]) {
        agent.instanceUid = uid;
        await agent.say();
      }
      expect(await told()).toMatchObject([{ appId, actor: `device:${appId}` }]);
      expect(await counted()).toBe(before + 1);
      clock.advance(HOUR_MS);
      for (const uid of [one, other, one, other]) {
        agent.instanceUid = uid;
        await agent.say();
      }
      expect(await told()).toHaveLength(2);
    });

    test('is the app’s own: the same one under two accounts means nothing', async () => {
      const [mine, theirs] = [await tenant(muster), await tenant(muster)];
      const one = await startedAgent(muster, mine);
      const two = await startedAgent(muster, theirs);
      two.agent.instanceUid = one.agent.instanceUid;
      for (const { agent } of [one, two, one, two]) await agent.say();
      for (const { accountId } of [mine, theirs]) {
        const actions = (await auditOf(muster, accountId)).map(({ action }) => action);
        expect(actions).not.toContain('credential.shared');
      }
    });
  });

  describe('the full state', () => {
    const asksFor = (flags: bigint): boolean => (flags & REPORT_FULL_STATE) !== 0n;

    test('is asked for where the store lacks the description, once in ten minutes', async () => {
      const { agent, first } = await startedAgent(muster, owner, REPORTS, {});
      expect(asksFor(first.flags)).toBe(true);
      expect(asksFor((await agent.say()).flags)).toBe(false);
      clock.advance(10 * MINUTE_MS);
      expect(asksFor((await agent.say()).flags)).toBe(true);
      expect(asksFor((await agent.start()).flags)).toBe(false);
      clock.advance(10 * MINUTE_MS);
      expect(asksFor((await agent.say()).flags)).toBe(false);
    });

    test('is asked for after a gap, once in ten minutes; a repetition and a new beginning are none', async () => {
      const { agent } = await startedAgent(muster, owner);
      await agent.say();
      expect(asksFor((await agent.say()).flags)).toBe(false);
      agent.sequence -= 1n;
      expect(asksFor((await agent.say()).flags)).toBe(false);
      agent.sequence += 3n;
      expect(asksFor((await agent.say()).flags)).toBe(true);
      agent.sequence += 3n;
      expect(asksFor((await agent.say()).flags)).toBe(false);
      agent.sequence = 0n;
      expect(asksFor((await agent.say()).flags)).toBe(false);
      clock.advance(10 * MINUTE_MS);
      agent.sequence += 3n;
      expect(asksFor((await agent.start()).flags)).toBe(false);
      agent.sequence += 3n;
      expect(asksFor((await agent.say()).flags)).toBe(true);
    });
  });

  test('a farewell is answered with nothing, though a change waits', async () => {
    const own = await tenant(muster);
    const { agent } = await startedAgent(muster, own);
    await setOtel(muster, own.apiKey);
    const farewell = await agent.say({ agentDisconnect: {} });
    expect(farewell.remoteConfig).toBeUndefined();
    expect((await agent.say()).remoteConfig).toBeDefined();
  });
});
