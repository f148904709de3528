import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DeviceClient, MusterError, OperatorClient, OwnerClient } from '#client';
import { Muster, OPERATOR_TOKEN } from '../../support/service/muster.ts';

/* Every method of the three classes against the real service. */

let muster: Muster;
beforeAll(async () => {
  muster = await Muster.start();
});
afterAll(async () => await muster[Symbol.asyncDispose]());

const operator = (): OperatorClient => new OperatorClient({ url: muster.ops, token: OPERATOR_TOKEN });

interface Owned {
  readonly owner: OwnerClient;
  readonly accountId: string;
  readonly keyId: string;
}

async function owned(): Promise<Owned> {
  const { accountId } = await operator().createAccount({ name: 'walk', entitlement: 'enterprise' });
  const { apiKey, keyId } = await operator().createApiKey(accountId, { name: 'first' });
  return { owner: new OwnerClient({ url: muster.api, apiKey }), accountId, keyId };
}

/** What a call throws, as its code and status. */
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'nothing thrown',
    (error: unknown) => (error instanceof MusterError ? `${error.code} ${error.status}` : inspect(error)),
  );

describe('the owner', () => {
  test('creates, lists, reads, revokes and deletes apps', async () => {
    const { owner } = await owned();
    const created = await owner.createApp({ name: 'edge' });
    expect(created).toMatchObject({ name: 'edge', status: 'pending' });
    expect(created.enrollCode).toMatch(/^mst_code_/);
    const { apps } = await owner.listApps();
    expect(apps).toEqual([await owner.readApp(created.appId)]);
    expect((await owner.issueEnrollCode(created.appId)).enrollCode).not.toBe(created.enrollCode);
    expect(await owner.revokeApp(created.appId)).toEqual({ appId: created.appId, status: 'revoked' });
    await owner.deleteApp(created.appId);
    expect(await codeOf(owner.readApp(created.appId))).toBe('not_found 404');
    expect(await codeOf(owner.deleteApp(created.appId))).toBe('not_found 404');
    expect(await owner.createApp()).toMatchObject({ name: '' });
  });

  test('sets, reads and purges the configuration', async () => {
    const { owner } = await owned();
    const endpoint = 'https://collector.example.com';
    const stored = await owner.storeOtelConfig({ enabled: true, endpoint, authHeader: 'Bearer collector' });
    expect(stored).toEqual({ enabled: true, endpoint, authHeaderSet: true, evidenceLevel: 'hashes' });
    expect(await owner.readOtelConfig()).toEqual(stored);
    expect(await owner.purgeOtelConfig()).toEqual({ deleted: true });
    expect(await codeOf(owner.storeOtelConfig({ enabled: true }))).toBe('invalid_endpoint 400');
  });

  test('sends any request', async () => {
    const { owner } = await owned();
    const created = await owner.request({ method: 'post', path: '/v1/apps', body: { name: 'raw' } });
    expect(created).toMatchObject({ status: 201, body: { name: 'raw' } });
    const key = { idempotencyKey: 'raw-1' };
    const once = await owner.request({ method: 'POST', path: '/v1/apps' }, key);
    const again = await owner.request({ method: 'POST', path: '/v1/apps' }, key);
    expect(again.body).toEqual(once.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    const { appId } = once.body as { appId: string };
    expect(await owner.request({ method: 'DELETE', path: `/v1/apps/${appId}` })).toMatchObject({
      status: 204,
      body: undefined,
    });
    expect(await codeOf(owner.request({ method: 'GET', path: '/v1/none' }))).toBe('not_found 404');
  });
});

describe('the daemon', () => {
  test('enrolls with a hash, proves it, polls, acknowledges and reports', async () => {
    const { owner, accountId } = await owned();
    const { appId, enrollCode } = await owner.createApp({ name: 'daemon' });
    const credential = `mst_dev_${'c'.repeat(43)}`;
    const credentialHash = createHash('sha256').update(credential).digest('hex');
    const device = new DeviceClient({ url: muster.device });
    const request = { appId, enrollCode, connection: 'cloud', credentialHash } as const;
    expect(await device.enrollDevice(request, { credential })).toMatchObject({ appId, status: 'active' });
    expect(await codeOf(device.pollConfig())).toBe('invalid_credential 401');
    device.useCredential(credential);

    const first = await device.pollConfig({ platform: 'linux', agentVersion: '2.0.0' });
    expect(first).toMatchObject({ changed: true, config: { otel: { enabled: false } } });
    expect(first.retryAfterSeconds).toBeGreaterThan(0);
    const { etag } = first;
    expect(await device.pollConfig({ etag })).toMatchObject({ changed: false, etag });

    const held = device.pollConfig({ etag, waitSeconds: 50 });
    await owner.storeOtelConfig({ enabled: true, endpoint: 'https://collector.example.com' });
    const second = await held;
    if (!second.changed) throw new Error('The poll ended without the change.');
    expect(second.config.otel).toMatchObject({ enabled: true, endpoint: 'https://collector.example.com' });
    await device.acknowledgeConfig({ revision: second.config.revision, status: 'applied' });
    expect(await operator().readRollout(accountId)).toMatchObject({ devices: 1, applied: 1 });

    const at = '2026-01-01T00:00:00.000Z';
    const event = { id: 'one', at, rule: 'rule', severity: 'high', evidence: { hash: 'h' } } as const;
    expect(await device.reportDetections({ events: [event] })).toEqual({ accepted: 1 });
  });

  test('gets a credential of the service where it sends no hash', async () => {
    const { owner } = await owned();
    const { appId, enrollCode } = await owner.createApp();
    const device = new DeviceClient({ url: muster.device });
    const { credential = '' } = await device.enrollDevice({ appId, enrollCode });
    device.useCredential(() => Promise.resolve(credential));
    expect((await device.pollConfig()).changed).toBe(true);
    expect(await codeOf(device.enrollDevice({ appId, enrollCode }))).toBe('invalid_code 401');
  });
});

describe('the operator', () => {
  test('creates, lists, reads and changes accounts and keys', async () => {
    const { accountId, keyId, owner } = await owned();
    expect(await operator().readAccount(accountId)).toMatchObject({ accountId, name: 'walk', disabled: false });
    const page = await operator().listAccounts({ limit: 1 });
    expect(page.accounts).toHaveLength(1);
    const ids: string[] = [];
    for await (const account of operator().accounts({ limit: 1 })) ids.push(account.accountId);
    expect(ids).toContain(accountId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await operator().changeAccount(accountId, { disabled: true })).toMatchObject({ disabled: true });
    expect(await codeOf(owner.listApps())).toBe('account_disabled 401');
    await operator().changeAccount(accountId, { disabled: false });
    expect((await operator().listApiKeys(accountId)).apiKeys).toMatchObject([{ keyId, name: 'first' }]);
    await operator().revokeApiKey(accountId, keyId);
    expect(await codeOf(owner.listApps())).toBe('invalid_key 401');
    expect(await codeOf(operator().changeAccount(accountId, { name: '' }))).toBe('invalid_request 400');
  });

  test('creates, lists, changes and resets users', async () => {
    const { user, link } = await operator().createUser({ name: 'Ann', login: 'ann@example.com' });
    expect(link.url).toMatch(/\/link#mst_link_operator_/);
    const has = {
      apiKeys: 0,
      apiKeysLastUsedAt: null,
      accessTokens: 0,
      accessTokensLastUsedAt: null,
      sessions: 0,
      sessionsLastUsedAt: null,
      providerRefusedAt: null,
    };
    expect((await operator().listUsers()).users).toEqual([{ ...user, ...has }]);
    expect(await operator().changeUser(user.userId, { name: 'Ann Example' })).toEqual({ ...user, name: 'Ann Example' });
    expect((await operator().resetUser(user.userId)).linkId).not.toBe(link.linkId);
    expect(await codeOf(operator().resetUser('a'.repeat(16)))).toBe('not_found 404');
    await operator().deleteUser(user.userId);
    expect(await codeOf(operator().deleteUser(user.userId))).toBe('not_found 404');
  });

  test('reads audits, reviews, keys, usage and limits', async () => {
    const { owner, accountId } = await owned();
    const { appId, enrollCode } = await owner.createApp();
    const actions: string[] = [];
    for await (const { action } of operator().audit(accountId, { limit: 1 })) actions.push(action);
    expect(actions).toContain('app.created');
    expect((await operator().listAudit(accountId, { limit: 1 })).next).toEqual(expect.any(String));
    expect(await operator().verifyAudit(accountId)).toMatchObject({ accountId, faults: [], faultCount: 0 });
    expect(await operator().verifyServiceAudit()).toMatchObject({ faultCount: 0 });
    expect((await operator().listServiceAudit()).entries).toEqual(expect.any(Array));
    const service: string[] = [];
    for await (const { at } of operator().serviceAudit()) service.push(at);
    expect(service).toEqual(service.toSorted());

    const device = new DeviceClient({ url: muster.device });
    const { credential = '' } = await device.enrollDevice({ appId, enrollCode, connection: 'cloud' });
    device.useCredential(credential);
    const at = '2026-01-01T00:00:00.000Z';
    const events = ['a', 'b'].map((id) => ({ id, at, rule: 'r', severity: 'low', evidence: { hash: 'h' } }) as const);
    await device.reportDetections({ events });
    const entries = [];
    for await (const entry of operator().reviewQueue(accountId, { status: 'open', limit: 1 })) entries.push(entry);
    expect(entries).toHaveLength(2);
    const entryId = entries[0]?.entryId ?? '';
    const decision = { status: 'confirmed', note: 'seen' } as const;
    expect(await operator().decideReview(accountId, entryId, decision)).toMatchObject(decision);
    expect((await operator().listReviewQueue(accountId, { status: 'confirmed' })).entries).toHaveLength(1);

    expect(await operator().readKeys()).toMatchObject({ writing: 1, known: [1] });
    expect(await operator().rotateKeys()).toEqual({ writing: 1, before: 1 });
    const { accounts, failing } = await operator().listRollouts({ by: 'failing', top: 1 });
    expect([accounts, failing]).toEqual([[], 0]);
    expect(await codeOf(operator().listRollouts({ top: 21 }))).toBe('invalid_request 400');
    expect(await operator().readRateLimits({ top: 1 })).toEqual({ limited: 0, accounts: [] });
    expect(await codeOf(operator().readRateLimits({ top: 21 }))).toBe('invalid_request 400');
  });

  test('reads usage in its three forms', async () => {
    const { accountId } = await owned();
    const month = '2026-01';
    expect(await operator().readUsage({ month, accountId })).toMatchObject({ month, accounts: [{ accountId }] });
    const csv = await operator().readUsageCsv({ month, limit: 1 });
    expect(csv.text).toMatch(/^"month","accountId"/);
    expect(csv.complete).toEqual(expect.any(Boolean));
    expect(csv.next).toEqual((await operator().readUsage({ month, limit: 1 })).next);
    expect(JSON.parse((await operator().readUsageEvents({ month })).text)).toEqual([]);
  });

  test('streams a backup, with its headers', async () => {
    const { headers, body } = await operator().readBackup({ count: true });
    expect(headers.get('content-type')).toMatch(/muster|ndjson|octet/);
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toMatch(/^\{.*\}\n/);
  });

  test('sends any request', async () => {
    const { body } = await operator().request({ method: 'GET', path: '/operator/v1/accounts', query: { limit: 1 } });
    expect(body).toMatchObject({ accounts: [expect.anything()] });
    const { status } = await new OperatorClient({ url: `${muster.ops}/`, token: OPERATOR_TOKEN }).request({
      method: 'HEAD',
      path: '/operator/v1/accounts?limit=1',
    });
    expect(status).toBe(200);
  });
});
