import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AGENT_CAN } from '../../../src/opamp/capabilities.ts';
import { ServerErrorResponseType } from '../../../src/opamp/generated/opamp_pb.ts';
import { described, offered, OpampAgent, post, REPORTS, type OpampAnswer } from '../../support/opamp/agent.ts';
import { auditOf, changeAccount, issueCode, metric, readApp, revoke, setOtel } from '../../support/service/daemon.ts';
import { createApp, enroll, tenant, type CreatedApp, type Muster, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const MINUTE_MS = 60_000;
const URL_OFFERED = 'https://fleet.example.com/v1/opamp';
const KEEPS = REPORTS | AGENT_CAN.acceptConnectionSettings | AGENT_CAN.reportHeartbeat;

onEachBackend('an agent with a code', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh({
      clock,
      env: { MUSTER_OPAMP_BOOTSTRAP: 'on', MUSTER_OPAMP_URL: URL_OFFERED },
    });
    owner = await tenant(muster);
    await setOtel(muster, owner.apiKey, { authHeader: 'collector-secret' });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  const newcomer = ({ enrollCode }: CreatedApp, capabilities = KEEPS): OpampAgent =>
    new OpampAgent(muster.device, enrollCode, capabilities);
  const knock = (agent: OpampAgent, { appId }: Pick<CreatedApp, 'appId'>): Promise<OpampAnswer> =>
    agent.send({ agentDescription: described(), remoteConfigStatus: {} }, { 'Muster-App-Id': appId });
  /** The credential in an offer. */
  function credentialIn({ message }: OpampAnswer): string {
    const [header] = message?.connectionSettings?.opamp?.headers?.headers ?? [];
    expect(header?.key).toBe('Authorization');
    return header?.value.replace(/^Bearer /, '') ?? '';
  }

  test('is offered a credential with all that it needs to connect, and gets its configuration with that', async () => {
    const app = await createApp(muster, owner.apiKey);
    const agent = newcomer(app);
    const answer = await knock(agent, app);
    expect([answer.status, answer.message?.remoteConfig]).toEqual([200, undefined]);
    const settings = answer.message?.connectionSettings?.opamp;
    expect(settings?.destinationEndpoint).toBe(URL_OFFERED);
    // Without these the supervisor would not verify the certificate of the service.
    expect(settings?.certificate).toBeDefined();
    expect(settings?.tls).toMatchObject({ includeSystemCaCertsPool: true, insecureSkipVerify: false });
    expect(Number(settings?.heartbeatIntervalSeconds)).toBeGreaterThan(0);
    agent.bearer = credentialIn(answer);
    const first = await agent.start();
    expect(offered(first)).toContain('collector-secret');
    // Settings that replace its own make it connect anew: they come once.
    expect(first.connectionSettings?.opamp?.headers?.headers[0]?.value).toBe(`Bearer ${agent.bearer}`);
    expect((await agent.start()).connectionSettings).toBeUndefined();
    expect(await readApp(muster, owner.apiKey, app.appId)).toMatchObject({
      status: 'active',
      platform: 'linux',
      agentVersion: '0.149.0',
    });
    const enrolled = (await auditOf(muster, owner.accountId)).find(
      ({ appId }) => appId === app.appId && appId !== undefined,
    );
    expect(enrolled).toBeDefined();
  });

  test('whose answer was lost gets the same credential for 15 minutes, and then none', async () => {
    const app = await createApp(muster, owner.apiKey);
    const agent = newcomer(app);
    const first = credentialIn(await knock(agent, app));
    clock.advance(15 * MINUTE_MS - 1);
    expect(credentialIn(await knock(agent, app))).toBe(first);
    const enrollments = (await auditOf(muster, owner.accountId)).filter(
      ({ action, appId }) => action === 'app.enrolled' && appId === app.appId,
    );
    expect(enrollments).toHaveLength(1);
    clock.advance(1);
    expect(await knock(agent, app)).toMatchObject({ status: 401, code: 'invalid_code' });
  });

  test('that another machine has used is refused: the code alone gives nothing', async () => {
    const app = await createApp(muster, owner.apiKey);
    const first = credentialIn(await knock(newcomer(app), app));
    expect(await knock(newcomer(app), app)).toMatchObject({ status: 401, code: 'invalid_code' });
    const agent = new OpampAgent(muster.device, first);
    expect((await agent.send()).status).toBe(200);
  });

  test('that was revoked since gets no credential back', async () => {
    const app = await createApp(muster, owner.apiKey);
    const agent = newcomer(app);
    const credential = credentialIn(await knock(agent, app));
    await revoke(muster, owner.apiKey, app.appId);
    expect(await knock(agent, app)).toMatchObject({ status: 401, code: 'invalid_code' });
    agent.bearer = credential;
    expect(await agent.send()).toMatchObject({ status: 401, code: 'invalid_credential' });
  });

  test('a new code of the same app and machine is another credential', async () => {
    const app = await createApp(muster, owner.apiKey);
    const agent = newcomer(app);
    const first = credentialIn(await knock(agent, app));
    const next = await issueCode(muster, owner.apiKey, app.appId);
    agent.bearer = next.enrollCode;
    const second = credentialIn(await knock(agent, next));
    expect(second).not.toBe(first);
    agent.bearer = first;
    expect(await agent.send()).toMatchObject({ status: 401 });
  });

  test('that would go on using the code is told so, and the code stays good', async () => {
    const app = await createApp(muster, owner.apiKey);
    const { status, message } = await knock(newcomer(app, REPORTS), app);
    expect([status, message?.errorResponse?.type]).toEqual([200, ServerErrorResponseType.BAD_REQUEST]);
    expect(message?.errorResponse?.errorMessage).toContain('connection settings');
    expect(await enroll(muster, app)).toMatch(/^mst_dev_/);
  });

  test('without an id of its own is told so, and the code stays good', async () => {
    const app = await createApp(muster, owner.apiKey);
    const agent = newcomer(app);
    agent.instanceUid = new Uint8Array(16);
    expect((await knock(agent, app)).message?.errorResponse?.errorMessage).toContain('instance_uid');
    agent.instanceUid = randomBytes(16);
    expect(credentialIn(await knock(agent, app))).toMatch(/^mst_dev_[\w-]{43}$/);
  });

  test.each<[string, (app: CreatedApp, other: CreatedApp) => readonly [code: string, appId: string]]>([
    ['a code of another app', (app, other) => [other.enrollCode, app.appId]],
    ['no app', (app) => [app.enrollCode, '']],
    ['an app that there is not', (app) => [app.enrollCode, 'a'.repeat(20)]],
    ['a malformed app', (app) => [app.enrollCode, '../x']],
  ])('%s → 401 invalid_code, and the codes stay good', async (_, of) => {
    const [app, other] = [await createApp(muster, owner.apiKey), await createApp(muster, owner.apiKey)];
    const [enrollCode, appId] = of(app, other);
    const failed = await metric(muster, 'muster_opamp_messages_total{result="invalid_code"}');
    expect(await knock(newcomer({ enrollCode, appId }), { appId })).toMatchObject({
      status: 401,
      code: 'invalid_code',
    });
    expect(await metric(muster, 'muster_opamp_messages_total{result="invalid_code"}')).toBe(failed + 1);
    for (const each of [app, other]) expect(await enroll(muster, each)).toMatch(/^mst_dev_/);
  });

  test('of a disabled account is told so, and the code stays good', async () => {
    const own = await tenant(muster);
    const app = await createApp(muster, own.apiKey);
    await changeAccount(muster, own.accountId, { disabled: true });
    expect(await knock(newcomer(app), app)).toMatchObject({ status: 401, code: 'account_disabled' });
    await changeAccount(muster, own.accountId, { disabled: false });
    expect(await enroll(muster, app)).toMatch(/^mst_dev_/);
  });

  test('comes neither compressed nor with more than 64 KiB: nobody has authenticated it', async () => {
    const app = await createApp(muster, owner.apiKey);
    const agent = newcomer(app);
    const headers = { 'Muster-App-Id': app.appId };
    const body = agent.bytes({ agentDescription: described() });
    const packed = await post({
      url: agent.url,
      bearer: agent.bearer,
      body: gzipSync(body),
      headers: { ...headers, 'Content-Encoding': 'gzip' },
    });
    expect(packed).toMatchObject({ status: 400, code: 'invalid_request' });
    const long = Buffer.concat([body, Buffer.from([0x32, 0x80, 0x80, 0x04]), Buffer.alloc(65_536)]);
    expect(await agent.sendBytes(long, headers)).toMatchObject({ status: 413, code: 'payload_too_large' });
    expect(await enroll(muster, app)).toMatch(/^mst_dev_/);
  });

  test('leaves its credential and its code in no log', async () => {
    const app = await createApp(muster, owner.apiKey);
    const agent = newcomer(app);
    const credential = credentialIn(await knock(agent, app));
    await knock(newcomer(app), app);
    const logged = muster.logged.join('\n');
    for (const secret of [credential, app.enrollCode]) expect(logged).not.toContain(secret);
  });
});
