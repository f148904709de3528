import { expect, test } from 'vitest';
import { tokenHash } from '../../../src/domain/credentials/tokens.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { auditOf, issueCode, metric, readApp, revoke } from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  poll,
  tenant,
  type Answer,
  type Call,
  type Muster,
} from '../../support/service/muster.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { onEachBackend, type Backend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* H23: API keys of less access, and of some addresses alone. */

const codeOf = ({ status, body }: Answer): unknown => [status, (body['error'] as { code?: string } | undefined)?.code];
const FORBIDDEN = [403, 'forbidden'];
const NOT_FOUND = [404, 'not_found'];

interface Key {
  readonly accountId: string;
  readonly keyId: string;
  readonly apiKey: string;
}
const pathOf = ({ accountId, keyId }: Key): string => `/accounts/${accountId}/api-keys/${keyId}`;
const create = (muster: Muster, accountId: string, body: object): Promise<Answer> =>
  asOperator(muster, `/accounts/${accountId}/api-keys`, { method: 'POST', body });
async function keyOf(muster: Muster, accountId: string, scope: object): Promise<Key> {
  const { status, body } = await create(muster, accountId, scope);
  expect([status, body]).toEqual([201, expect.objectContaining(scope)]);
  return { accountId, keyId: String(body['keyId']), apiKey: String(body['apiKey']) };
}
const change = (muster: Muster, key: Key, body: object): Promise<Answer> =>
  asOperator(muster, pathOf(key), { method: 'PATCH', body });
const ask = ({ api }: Muster, { apiKey: token }: Key, target: string, request: Call = {}): Promise<Answer> => {
  const [method = '', path = ''] = target.split(' ');
  return call(`${api}${path}`, { method, token, ...request });
};
const from = (client: string): Call => ({ headers: { 'x-forwarded-for': client } });

/** Two replicas of one store, or one where the store is embedded; a proxy on this machine tells them of the client. */
async function scene(backend: Backend) {
  const [clock, place] = [new FakeClock(), backend.place()];
  const env = { ...place.env, MUSTER_TRUSTED_PROXIES: '127.0.0.1' };
  const stack = new AsyncDisposableStack();
  let store: Store | undefined;
  const one = stack.use(await backend.fresh({ ...place, env, clock, wrapStore: (real) => (store = real) }));
  const other = backend.name === 'etcd' ? stack.use(await backend.fresh({ ...place, env, clock })) : one;
  const full = await tenant(one);
  const { accountId } = full;
  const stored = async ({ keyId }: Key): Promise<string> =>
    (await store?.get(KEYS.apiKey(accountId, keyId)))?.value ?? '';
  return { clock, one, other, full, accountId, stored, stack };
}

onEachBackend('an API key of less access', (backend) => {
  test('comes before the entitlement and the body, and after the key, the account and the rate', async () => {
    const { one, stack } = await scene(backend);
    await using _ = stack;
    const { accountId } = await tenant(one, 'standard');
    const [read, enrolls] = [
      await keyOf(one, accountId, { access: 'read' }),
      await keyOf(one, accountId, { access: 'enroll' }),
    ];
    expect(codeOf(await ask(one, read, 'GET /v1/otel-config'))).toEqual([403, 'enterprise_required']);
    expect(codeOf(await ask(one, enrolls, 'GET /v1/otel-config'))).toEqual(FORBIDDEN);
    expect(codeOf(await ask(one, read, 'POST /v1/apps', { body: 'x'.repeat(65_537) }))).toEqual(FORBIDDEN);
    expect(codeOf(await ask(one, read, 'POST /v1/nothing'))).toEqual(NOT_FOUND);
    expect(codeOf(await ask(one, read, 'POST /v1/apps/x/revoke'))).toEqual(NOT_FOUND);
    await asOperator(one, `/accounts/${accountId}`, { method: 'PATCH', body: { disabled: true } });
    expect(codeOf(await ask(one, read, 'POST /v1/apps', { body: {} }))).toEqual([401, 'account_disabled']);
    expect((await asOperator(one, pathOf(read), { method: 'DELETE' })).status).toBe(204);
    expect(codeOf(await ask(one, read, 'POST /v1/apps', { body: {} }))).toEqual([401, 'invalid_key']);
  });

  test('that enrolls issues codes for its own pending apps: others are not there, and nothing of them changes', async () => {
    const { one, other, full, accountId, stack } = await scene(backend);
    await using _ = stack;
    const [key, second] = [
      await keyOf(one, accountId, { access: 'enroll' }),
      await keyOf(one, accountId, { access: 'enroll' }),
    ];
    const own = await createApp(one, key.apiKey, 'own');
    const issue = (by: Key, appId: string) => ask(other, by, `POST /v1/apps/${appId}/enroll-code`);
    expect((await issue(key, own.appId)).status).toBe(201);
    for (const appId of [(await createApp(one, full.apiKey)).appId, (await createApp(one, second.apiKey)).appId]) {
      const before = await asOperator(one, `/accounts/${accountId}/audit`);
      expect(codeOf(await issue(key, appId))).toEqual(NOT_FOUND);
      expect((await asOperator(one, `/accounts/${accountId}/audit`)).text).toBe(before.text);
    }
    const newest = await issueCode(one, key.apiKey, own.appId);
    await enroll(one, newest);
    expect(await readApp(one, full.apiKey, own.appId)).toMatchObject({ status: 'active' });
    expect(codeOf(await issue(key, own.appId))).toEqual(NOT_FOUND);
    await revoke(one, full.apiKey, own.appId);
    expect(codeOf(await issue(key, own.appId))).toEqual(NOT_FOUND);
    expect((await issue({ ...full }, own.appId)).status).toBe(201);
  });

  test('keeps no code with which it takes over the daemon, neither one that it has nor one that is told again', async () => {
    const { one, other, full, accountId, stack } = await scene(backend);
    await using _ = stack;
    const key = await keyOf(one, accountId, { access: 'enroll' });
    const app = await createApp(one, key.apiKey);
    const again = { headers: { 'idempotency-key': 'a code' } };
    const issue = () => ask(other, key, `POST /v1/apps/${app.appId}/enroll-code`, again);
    const kept = await issue();
    const later = await issueCode(one, key.apiKey, app.appId);
    const credential = await enroll(one, app);
    expect((await issue()).text).toBe(kept.text);
    for (const enrollCode of [later.enrollCode, String(kept.body['enrollCode'])]) {
      const body = { appId: app.appId, enrollCode, platform: 'x', agentVersion: '1', connection: 'cloud' };
      expect((await call(`${other.device}/device/v1/enroll`, { method: 'POST', body })).status).toBe(401);
      expect((await poll(one, credential)).status).toBe(200);
    }
    // The codes of an owner go on, as ever.
    const own = await createApp(one, full.apiKey);
    const next = await issueCode(one, full.apiKey, own.appId);
    await enroll(one, own);
    expect(await enroll(one, next)).toMatch(/^mst_dev_/);
    const owners = await issueCode(one, full.apiKey, app.appId);
    expect(await enroll(one, owners)).toMatch(/^mst_dev_/);
  });

  test('that is narrowed later is told no code again of an app that it may not change, and its own again', async () => {
    const { one, other, full, accountId, stack } = await scene(backend);
    await using _ = stack;
    const key = await keyOf(one, accountId, { allowedCidrs: ['127.0.0.0/8'] });
    const app = await createApp(one, full.apiKey);
    await enroll(one, app);
    const again = { headers: { 'idempotency-key': 'a code' } };
    const issue = (appId: string) => ask(other, key, `POST /v1/apps/${appId}/enroll-code`, again);
    expect((await issue(app.appId)).status).toBe(201);
    expect((await change(one, key, { access: 'enroll' })).status).toBe(200);
    expect(codeOf(await issue(app.appId))).toEqual(NOT_FOUND);
    const own = await createApp(one, key.apiKey);
    const second = { headers: { 'idempotency-key': 'another code' } };
    const answers = [1, 2].map(() => ask(other, key, `POST /v1/apps/${own.appId}/enroll-code`, second));
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([201, 201]);
  });

  test('gets no answer that was kept for another key, and its own again', async () => {
    const { one, other, full, accountId, stack } = await scene(backend);
    await using _ = stack;
    const keys = [
      full,
      await keyOf(one, accountId, { access: 'enroll' }),
      await keyOf(one, accountId, { access: 'enroll' }),
      await keyOf(one, accountId, { allowedCidrs: ['127.0.0.0/8'] }),
    ];
    const request = { body: { name: 'same' }, headers: { 'idempotency-key': 'same' } };
    const answers: Answer[] = [];
    for (const key of keys) answers.push(await ask(one, key, 'POST /v1/apps', request));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body['appId'])).size).toBe(4);
    for (const [index, key] of keys.entries()) {
      const again = await ask(other, key, 'POST /v1/apps', request);
      expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([answers[index]?.text, 'true']);
    }
    // A key of the whole account has its answers in common with the others of its kind, as before.
    const more = await keyOf(one, accountId, {});
    expect((await ask(one, more, 'POST /v1/apps', request)).text).toBe(answers[0]?.text);
  });

  test('is narrowed with the answer, on every replica, and never widened', async () => {
    const { one, other, accountId, stack } = await scene(backend);
    await using _ = stack;
    const key = await keyOf(one, accountId, {});
    expect((await ask(other, key, 'POST /v1/apps', { body: {} })).status).toBe(201);
    const narrowed = await change(one, key, { access: 'read' });
    expect([narrowed.status, narrowed.body]).toMatchObject([
      200,
      { access: 'read', allowedCidrs: [], expiresAt: null },
    ]);
    for (const muster of [one, other]) {
      expect(codeOf(await ask(muster, key, 'POST /v1/apps', { body: {} }))).toEqual(FORBIDDEN);
      expect((await ask(muster, key, 'GET /v1/apps')).status).toBe(200);
    }
    const ranges = ['192.0.2.0/24', '2001:db8::/32'];
    expect((await change(other, key, { allowedCidrs: ranges })).body).toMatchObject({
      access: 'read',
      allowedCidrs: ranges,
    });
    expect(codeOf(await ask(one, key, 'GET /v1/apps'))).toEqual(FORBIDDEN);
    expect((await ask(one, key, 'GET /v1/apps', from('192.0.2.9'))).status).toBe(200);
    for (const wider of [
      { access: 'full' },
      { access: 'enroll' },
      { allowedCidrs: [] },
      { allowedCidrs: ['192.0.0.0/16'] },
      { allowedCidrs: ['192.0.2.0/24', '198.51.100.0/24'] },
    ]) {
      expect(codeOf(await change(one, key, wider))).toEqual([409, 'conflict']);
    }
    expect((await change(one, key, { access: 'read', allowedCidrs: ranges })).status).toBe(200);
    expect(codeOf(await change(one, key, {}))).toEqual([400, 'invalid_request']);
    expect((await change(one, key, { allowedCidrs: ['192.0.2.128/25'] })).status).toBe(200);
    expect(codeOf(await ask(other, key, 'GET /v1/apps', from('192.0.2.9')))).toEqual(FORBIDDEN);
    const changes = (await auditOf(one, accountId)).filter(({ action }) => action === 'key.changed');
    expect(changes.map(({ detail }) => detail)).toEqual([
      { keyId: key.keyId, access: 'read' },
      { keyId: key.keyId, access: 'read', allowedCidrs: ranges.join(' ') },
      { keyId: key.keyId, access: 'read', allowedCidrs: '192.0.2.128/25' },
    ]);
  });

  test('that is narrowed before the commit of a request ends that request', async () => {
    const race = new BeforeCommit(KEYS.account.under());
    await using muster = await backend.fresh({ wrapStore: race.wrapStore });
    for (const [scope, expected] of [
      [{ access: 'read' }, FORBIDDEN],
      [{ allowedCidrs: ['192.0.2.0/24'] }, FORBIDDEN],
      [{ access: 'enroll' }, [201, undefined]],
    ] as const) {
      const own = await tenant(muster);
      race.next = () => change(muster, own, scope);
      const answer = await ask(muster, own, 'POST /v1/apps', { body: { name: 'late' } });
      expect([scope, codeOf(answer), race.isDone]).toEqual([scope, expected, true]);
    }
  });

  test('keeps its access through a rotation and an earlier end, for both of its secrets', async () => {
    const { clock, one, other, accountId, stack } = await scene(backend);
    await using _ = stack;
    const key = await keyOf(one, accountId, { access: 'read', allowedCidrs: ['127.0.0.1'] });
    const rotation = await asOperator(one, `${pathOf(key)}/rotation`, { method: 'POST', body: { graceSeconds: 60 } });
    expect(rotation.body).toMatchObject({ access: 'read', allowedCidrs: ['127.0.0.1'] });
    const next = { ...key, apiKey: String(rotation.body['apiKey']) };
    await change(one, key, { expiresAt: new Date(clock.now() + 90_000).toISOString() });
    const asked = async (): Promise<unknown[]> =>
      await Promise.all(
        [key, next].flatMap((by) => [
          ask(other, by, 'GET /v1/apps').then(({ status }) => status),
          ask(other, by, 'POST /v1/apps', { body: {} }).then(({ status }) => status),
          ask(other, by, 'GET /v1/apps', from('192.0.2.1')).then(({ status }) => status),
        ]),
      );
    expect(await asked()).toEqual([200, 403, 403, 200, 403, 403]);
    clock.advance(60_000);
    expect(await asked()).toEqual([401, 401, 401, 200, 403, 403]);
    clock.advance(30_000);
    expect(await asked()).toEqual([401, 401, 401, 401, 401, 401]);
  });

  test('is stored so that a program that knows no restriction refuses its secrets', async () => {
    const { one, accountId, stored, stack } = await scene(backend);
    await using _ = stack;
    for (const scope of [{ access: 'enroll' }, { allowedCidrs: ['127.0.0.1/32'] }, {}]) {
      const key = await keyOf(one, accountId, { ...scope, expiresAt: '2099-01-31T00:00:00.000Z' });
      if (!('access' in scope || 'allowedCidrs' in scope)) await change(one, key, { access: 'read' });
      const rotation = await asOperator(one, `${pathOf(key)}/rotation`, { method: 'POST', body: {} });
      const record = await stored(key);
      expect(record).toContain('"restriction"');
      for (const secret of [key.apiKey, String(rotation.body['apiKey'])]) {
        expect(record).toContain(`restricted:${tokenHash(secret)}`);
        expect(record).not.toContain(`"${tokenHash(secret)}"`);
      }
    }
  });
});

onEachBackend('the addresses of an API key', (backend) => {
  test('are those of the client, as the trusted proxy tells it', async () => {
    const { one, full, accountId, stack } = await scene(backend);
    await using _ = stack;
    const key = await keyOf(one, accountId, { allowedCidrs: ['192.0.2.0/24', '2001:db8:1::/48', '198.51.100.7'] });
    const statuses = async (clients: readonly string[]): Promise<unknown> =>
      Object.fromEntries(
        await Promise.all(
          clients.map(async (client) => [client, (await ask(one, key, 'GET /v1/apps', from(client))).status]),
        ),
      );
    const inside = ['192.0.2.0', '192.0.2.255', '::ffff:192.0.2.1', '2001:db8:1:ffff::1', '198.51.100.7'];
    const outside = [
      '192.0.3.0',
      '192.0.1.255',
      '2001:db8:2::1',
      '198.51.100.8',
      '::192.0.2.1',
      '192.0.2.1, 192.0.3.1',
    ];
    expect(await statuses(inside)).toEqual(Object.fromEntries(inside.map((client) => [client, 200])));
    expect(await statuses(outside)).toEqual(Object.fromEntries(outside.map((client) => [client, 403])));
    expect(codeOf(await ask(one, key, 'GET /v1/apps'))).toEqual(FORBIDDEN);
    expect(codeOf(await ask(one, key, 'GET /v1/nothing'))).toEqual(NOT_FOUND);
    expect((await ask(one, full, 'GET /v1/apps', from('192.0.3.0'))).status).toBe(200);
    expect(await metric(one, 'muster_authentication_failures_total{credential="api_key",reason="other_address"}')).toBe(
      outside.length + 1,
    );
  });

  test('are at most 20 ranges without bits beyond their prefix', async () => {
    const { one, accountId, stack } = await scene(backend);
    await using _ = stack;
    const ranges = (count: number) => Array.from({ length: count }, (_none, at) => `10.${at}.0.0/16`);
    for (const allowedCidrs of [ranges(20), ['0.0.0.0/0', '::/0'], ['10.0.0.1/32', '2001:db8::1/128', '192.0.2.1']]) {
      await keyOf(one, accountId, { allowedCidrs });
    }
    for (const allowedCidrs of [
      ranges(21),
      ['10.0.0.1/8'],
      ['10.0.0.0/33'],
      ['2001:db8::1/64'],
      ['::ffff:10.0.0.0/104'],
      ['010.0.0.0/8'],
      ['10/8'],
      ['fe80::1%eth0'],
      ['example.com'],
      [''],
      [7],
      '10.0.0.0/8',
      null,
    ]) {
      expect(codeOf(await create(one, accountId, { allowedCidrs }))).toEqual([400, 'invalid_request']);
    }
    for (const access of ['', 'Full', 'write', null, ['read']]) {
      expect(codeOf(await create(one, accountId, { access }))).toEqual([400, 'invalid_request']);
    }
  });
});
