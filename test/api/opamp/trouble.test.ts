import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { RemoteConfigStatuses } from '../../../src/opamp/generated/opamp_pb.ts';
import { described, offered, OpampAgent, REPORTS } from '../../support/opamp/agent.ts';
import { rolloutOf, startedAgent } from '../../support/opamp/fleet.ts';
import { purgeOtel, revoke, setOtel } from '../../support/service/daemon.ts';
import { createApp, enroll, Muster, tenant, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';

/** As it enrolled: no version is written in the background. */
const AS_ENROLLED = {
  agentDescription: described({ 'service.version': '1.0.0', 'os.type': 'linux' }),
  remoteConfigStatus: {},
};

onEachBackend('where the store has trouble', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let store: FaultyStore;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh({
      clock,
      env: { MUSTER_DEVICE_RATE_PER_MINUTE: '100000' },
      wrapStore: (real) => (store = faultyForRequests(real)),
    });
    owner = await tenant(muster);
    await setOtel(muster, owner.apiKey, { authHeader: 'collector-secret' });
  });
  afterEach(() => {
    store.down.clear();
    store.trouble = 'unreachable';
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  test('an outage is 503 with a time to come back, since agents repeat nothing else; then nothing is lost', async () => {
    const { agent, first } = await startedAgent(muster, owner, REPORTS, AS_ENROLLED);
    store.down.add('get');
    const status = { lastRemoteConfigHash: first.remoteConfig!.configHash, status: RemoteConfigStatuses.APPLIED };
    const refused = await agent.send({ remoteConfigStatus: status });
    expect(refused).toMatchObject({ status: 503, code: 'unavailable' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(5);
    store.down.clear();
    agent.sequence -= 1n;
    expect(await agent.send({ remoteConfigStatus: status })).toMatchObject({ status: 200 });
    expect(await rolloutOf(muster, owner)).toMatchObject({ applied: 1 });
  });

  test('a commit whose answer is lost is 503, and the repetition finds it done', async () => {
    const own = await tenant(muster);
    await setOtel(muster, own.apiKey);
    const { agent, first } = await startedAgent(muster, own, REPORTS, AS_ENROLLED);
    store.fates.push('answer lost after commit');
    const status = { lastRemoteConfigHash: first.remoteConfig!.configHash, status: RemoteConfigStatuses.APPLIED };
    expect((await agent.send({ remoteConfigStatus: status })).status).toBe(503);
    expect(await agent.send({ remoteConfigStatus: status })).toMatchObject({ status: 200 });
    expect(await rolloutOf(muster, own)).toMatchObject({ applied: 1 });
  });

  test('commits of others come in between, and the state is kept all the same', async () => {
    const own = await tenant(muster);
    await setOtel(muster, own.apiKey);
    const { agent, first } = await startedAgent(muster, own, REPORTS, AS_ENROLLED);
    store.fates.push('conflict', 'conflict', 'conflict');
    expect((await agent.acknowledge(first)).remoteConfig).toBeUndefined();
    expect(await rolloutOf(muster, own)).toMatchObject({ applied: 1 });
  });

  test('a full store keeps no state, but a purge reaches the agent', async () => {
    const own = await tenant(muster);
    await setOtel(muster, own.apiKey, { authHeader: 'collector-secret' });
    const { agent, first } = await startedAgent(muster, own);
    await agent.acknowledge(first);
    await purgeOtel(muster, own.apiKey);
    store.trouble = 'full';
    store.down.add('commit');
    const purged = await agent.say({ health: { healthy: false } });
    expect(offered(purged)).toBe('{}\n');
    const hash = purged.remoteConfig!.configHash;
    await agent.say({ remoteConfigStatus: { lastRemoteConfigHash: hash, status: RemoteConfigStatuses.APPLIED } });
    store.down.clear();
    // What was not kept is offered again, and said again, but not with every poll.
    expect((await agent.say()).remoteConfig).toBeUndefined();
    clock.advance(600_000);
    const again = await agent.say();
    expect(offered(again)).toBe('{}\n');
    await agent.acknowledge(again);
    expect(await rolloutOf(muster, own)).toMatchObject({ applied: 1 });
  });

  test('a poll without news reads and writes nothing', async () => {
    const own = await tenant(muster);
    await setOtel(muster, own.apiKey);
    const app = await createApp(muster, own.apiKey);
    const agent = new OpampAgent(muster.device, await enroll(muster, app));
    const first = await agent.start(AS_ENROLLED);
    await agent.acknowledge(first);
    await agent.say();
    const [gets, changes] = [store.calls.get, store.changes.length];
    for (let n = 0; n < 5; n += 1) await agent.say();
    expect([store.calls.get, store.changes.length]).toEqual([gets, changes]);
  });
});

test.each([
  ['a report that is to be kept', { remoteConfigStatus: {} }],
  ['a sign of life', {}],
  ['a farewell', { agentDisconnect: {} }],
])('a credential that is revoked while the message is on its way is refused: %s', async (_what, message) => {
  await using muster = await Muster.start();
  const owner = await tenant(muster);
  await setOtel(muster, owner.apiKey, { authHeader: 'collector-secret' });
  const { agent, appId } = await startedAgent(muster, owner);
  const body = agent.bytes(message);
  const sent = request(agent.url, {
    method: 'POST',
    agent: new Agent(),
    headers: {
      Authorization: `Bearer ${agent.bearer}`,
      'Content-Type': 'application/x-protobuf',
      'Content-Length': body.length,
      Expect: '100-continue',
    },
  });
  const answered = once(sent, 'response');
  sent.flushHeaders();
  // It has passed authentication: the service waits for the body.
  await once(sent, 'continue');
  await revoke(muster, owner.apiKey, appId);
  sent.end(body);
  const [response] = (await answered) as [IncomingMessage];
  expect(response.statusCode).toBe(401);
  expect((await buffer(response)).toString()).not.toContain('collector-secret');
});

test('the guard of the device’s rate counts both protocols together', async () => {
  await using muster = await Muster.start({ env: { MUSTER_DEVICE_RATE_PER_MINUTE: '3' } });
  const owner = await tenant(muster);
  const { agent } = await startedAgent(muster, owner);
  const answers = [];
  for (let n = 0; n < 4; n += 1) answers.push(await agent.send());
  const refused = answers.find(({ status }) => status === 429);
  expect(refused).toMatchObject({ code: 'rate_limited', message: undefined });
  expect(Number(refused?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
});

test('under another path, the usual one is not there', async () => {
  await using muster = await Muster.start({ env: { MUSTER_OPAMP_PATH: '/fleet/opamp' } });
  const owner = await tenant(muster);
  const app = await createApp(muster, owner.apiKey);
  const agent = new OpampAgent(muster.device, await enroll(muster, app));
  expect(await agent.send()).toMatchObject({ status: 404, code: 'not_found' });
  const moved = new OpampAgent(muster.device, agent.bearer);
  Object.assign(moved, { url: `${muster.device}/fleet/opamp` });
  expect(await moved.send()).toMatchObject({ status: 200 });
});
