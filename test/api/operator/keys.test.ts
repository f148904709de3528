import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { putAll } from '../../support/records/backups.ts';
import {
  call,
  createApp,
  enroll,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Answer,
  type Call,
  type Muster,
} from '../../support/service/muster.ts';
import { times } from '../../support/service/v1.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const INVALID_REQUEST = { status: 400, body: { error: { code: 'invalid_request' } } };
const NOT_FOUND = { status: 404, body: { error: { code: 'not_found' } } };

onEachBackend('API keys', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let store: Store;
  beforeAll(async () => {
    muster = await backend.fresh({ clock, wrapStore: (opened) => (store = opened) });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  const operate = (path: string, options: Call = {}): Promise<Answer> =>
    call(`${muster.ops}/operator/v1${path}`, { token: OPERATOR_TOKEN, ...options });
  const post = (path: string, body: object | string): Promise<Answer> => operate(path, { method: 'POST', body });
  const apps = (apiKey: string): Promise<Answer> => call(`${muster.api}/v1/apps`, { token: apiKey });

  async function account(): Promise<string> {
    return String((await post('/accounts', { name: 'account', entitlement: 'standard' })).body['accountId']);
  }

  test('one is shown once, works at once, and is listed without its secret', async () => {
    const accountId = await account();
    const created = await post(`/accounts/${accountId}/api-keys`, { name: 'ci' });
    expect(Object.keys(created.body)).toEqual([
      'keyId',
      'name',
      'createdAt',
      'expiresAt',
      'access',
      'allowedCidrs',
      'apiKey',
    ]);
    const { keyId, apiKey, createdAt } = created.body as { keyId: string; apiKey: string; createdAt: string };
    expect([created.status, created.body['name'], apiKey.startsWith(`mst_live_${keyId}_`)]).toEqual([201, 'ci', true]);
    expect((await apps(apiKey)).status).toBe(200);
    const listed = await operate(`/accounts/${accountId}/api-keys`);
    expect(listed.body).toEqual({
      apiKeys: [
        {
          keyId,
          name: 'ci',
          createdAt,
          expiresAt: null,
          access: 'full',
          allowedCidrs: [],
          formerExpiresAt: null,
          lastUsedAt: expect.any(String) as string,
          calls7d: 1,
          createdBy: 'operator',
          createdByName: 'operator',
        },
      ],
    });
    expect(listed.text).not.toContain(apiKey.slice(-49));
  });

  test('the name is optional, and keys are listed oldest first', async () => {
    const accountId = await account();
    const ids: unknown[] = [];
    for (const body of ['', {}, { name: 'x'.repeat(200) }]) {
      const created = await post(`/accounts/${accountId}/api-keys`, body);
      expect(created.status).toBe(201);
      ids.push(created.body['keyId']);
      clock.advance(1);
    }
    const listed = (await operate(`/accounts/${accountId}/api-keys`)).body['apiKeys'] as {
      keyId: string;
      name: string;
    }[];
    expect(listed.map(({ keyId }) => keyId)).toEqual(ids);
    expect(listed.map(({ name }) => name.length)).toEqual([0, 0, 200]);
  });

  test.each<[object | string]>([[{ name: 'x'.repeat(201) }], [{ name: null }], [{ name: 7 }], ['[]']])(
    '%.40j is refused',
    async (body) => {
      const accountId = await account();
      expect(await post(`/accounts/${accountId}/api-keys`, body)).toMatchObject(INVALID_REQUEST);
      expect((await operate(`/accounts/${accountId}/api-keys`)).body).toEqual({ apiKeys: [] });
    },
  );

  test('A12: a revoked key is refused on the very next request; others of the account go on', async () => {
    const { accountId, keyId, apiKey } = await tenant(muster);
    const other = String((await post(`/accounts/${accountId}/api-keys`, {})).body['apiKey']);
    expect((await apps(apiKey)).status).toBe(200);
    const revoked = await operate(`/accounts/${accountId}/api-keys/${keyId}`, { method: 'DELETE' });
    expect(revoked).toMatchObject({ status: 204, text: '' });
    expect(await apps(apiKey)).toMatchObject({ status: 401, body: { error: { code: 'invalid_key' } } });
    expect((await apps(other)).status).toBe(200);
    expect(await operate(`/accounts/${accountId}/api-keys/${keyId}`, { method: 'DELETE' })).toMatchObject(NOT_FOUND);
  });

  test('a revoked key cuts no daemon off', async () => {
    const { accountId, keyId, apiKey } = await tenant(muster);
    const credential = await enroll(muster, await createApp(muster, apiKey));
    await operate(`/accounts/${accountId}/api-keys/${keyId}`, { method: 'DELETE' });
    expect((await poll(muster, credential)).status).toBe(200);
  });

  test('a key is revoked through its own account only', async () => {
    const [one, other] = [await tenant(muster), await tenant(muster)];
    const foreign = await operate(`/accounts/${other.accountId}/api-keys/${one.keyId}`, { method: 'DELETE' });
    const unknown = await operate(`/accounts/${other.accountId}/api-keys/${'a'.repeat(12)}`, { method: 'DELETE' });
    expect(foreign).toMatchObject(NOT_FOUND);
    expect(foreign.text).toBe(unknown.text);
    expect((await apps(one.apiKey)).status).toBe(200);
  });

  test('an account has at most 200, also where 60 are made at once', async () => {
    const accountId = await account();
    const make = (): Promise<Answer> => post(`/accounts/${accountId}/api-keys`, {});
    const key = KEYS.apiKey(accountId, String((await make()).body['keyId']));
    const record = JSON.parse((await store.get(key))?.value ?? '') as object;
    const further = Array.from({ length: 189 }, (_, number) => `seeded${String(number).padStart(6, '0')}`);
    await putAll(store, Object.fromEntries(further.map((keyId) => [KEYS.apiKey(accountId, keyId), record])));
    const answers = await times(60, 60, make);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    for (const answer of answers) if (answer.status !== 201) expect(answer).toMatchObject(INVALID_REQUEST);
    const listed = (await operate(`/accounts/${accountId}/api-keys`)).body['apiKeys'] as { keyId: string }[];
    expect(listed).toHaveLength(200);
    await operate(`/accounts/${accountId}/api-keys/${listed[0]?.keyId}`, { method: 'DELETE' });
    expect((await make()).status, 'what is revoked makes room').toBe(201);
    expect(await make()).toMatchObject(INVALID_REQUEST);
  });
});
