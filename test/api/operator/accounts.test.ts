import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEADLINES, LIMITS } from '../../../src/domain/limits.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { CATCH_UP_MS } from '../../../src/store/watch-cache/watch-cache.ts';
import { write } from '../../support/metering/metering.ts';
import { changeAccount } from '../../support/service/daemon.ts';
import { call, OPERATOR_TOKEN, tenant, type Answer, type Call, type Muster } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { simulatedTimers } from '../../support/time/simulated-timers.ts';
import { until } from '../../support/time/until.ts';

const INVALID_REQUEST = { status: 400, body: { error: { code: 'invalid_request' } } };
const NOT_FOUND = { status: 404, body: { error: { code: 'not_found' } } };
const NOBODY = 'a'.repeat(16);
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The response to a request that waits for memory, read by read, without the time that this takes. */
async function afterLooks(asked: Promise<Answer>): Promise<Answer> {
  using timers = simulatedTimers();
  let isAnswered = false;
  const answer = asked.finally(() => (isAnswered = true));
  await until(async () => {
    await timers.advance(CATCH_UP_MS);
    return isAnswered;
  });
  return await answer;
}

onEachBackend('the operator API', (backend) => {
  let muster: Muster;
  let store: FaultyStore;
  beforeAll(async () => {
    muster = await backend.fresh({ wrapStore: (real) => (store = faultyStore(real)) });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  const operate = (path: string, options: Call = {}): Promise<Answer> =>
    call(`${muster.ops}/operator/v1${path}`, { token: OPERATOR_TOKEN, ...options });
  const post = (path: string, body: object | string): Promise<Answer> => operate(path, { method: 'POST', body });
  const apps = (apiKey: string): Promise<Answer> => call(`${muster.api}/v1/apps`, { token: apiKey });

  async function account(name = 'account', entitlement = 'standard'): Promise<string> {
    return String((await post('/accounts', { name, entitlement })).body['accountId']);
  }

  describe('accounts', () => {
    test('one is created, read back the same, and found in the list', async () => {
      const created = await post('/accounts', { name: 'Zoë & Söhne', entitlement: 'enterprise' });
      const { accountId } = created.body as { accountId: string };
      expect(created).toMatchObject({
        status: 201,
        body: {
          name: 'Zoë & Söhne',
          entitlement: 'enterprise',
          disabled: false,
          createdAt: expect.stringMatching(DATE_TIME) as string,
        },
      });
      expect(Object.keys(created.body)).toEqual([
        'accountId',
        'name',
        'entitlement',
        'disabled',
        'createdAt',
        'storedBytes',
        'quotaMb',
      ]);
      expect(accountId).toMatch(/^[a-z0-9]{16}$/);
      expect(await operate(`/accounts/${accountId}`)).toMatchObject({ status: 200, text: created.text });
      const listed = (await operate('/accounts?limit=1000')).body['accounts'] as object[];
      expect(listed).toContainEqual(created.body);
    });

    test.each<[object | string, string]>([
      [{ entitlement: 'standard' }, 'no name'],
      [{ name: '', entitlement: 'standard' }, 'an empty name'],
      [{ name: 'x'.repeat(201), entitlement: 'standard' }, 'a name of 201 characters'],
      [{ name: '\ud800', entitlement: 'standard' }, 'a lone surrogate'],
      [{ name: null, entitlement: 'standard' }, 'null as name'],
      [{ name: 'a' }, 'no entitlement'],
      [{ name: 'a', entitlement: 'Enterprise' }, 'another case'],
      [{ name: 'a', entitlement: 'free' }, 'an unknown one'],
      ['', 'nothing'],
      ['{"name":', 'JSON that breaks off'],
      ['[]', 'no object'],
    ])('%.50j is refused (%s)', async (body) => {
      expect(await post('/accounts', body)).toMatchObject(INVALID_REQUEST);
    });

    test('the longest name passes', async () => {
      const body = { name: '😀'.repeat(200), entitlement: 'standard' };
      expect(await post('/accounts', body)).toMatchObject({ status: 201, body: { name: body.name, disabled: false } });
    });

    test('a body above 64 KiB is 413', async () => {
      const tooLarge = await post('/accounts', { name: 'a', entitlement: 'standard', padding: 'x'.repeat(65_536) });
      expect(tooLarge).toMatchObject({ status: 413, body: { error: { code: 'payload_too_large' } } });
    });

    test('H7: a body in gzip is inflated for a valid token alone, and one in br is 400', async () => {
      const plain = Buffer.from(JSON.stringify({ name: 'packed', entitlement: 'standard' }));
      const sent = (token: string, encoding: string, body: Buffer): Promise<Answer> =>
        call(`${muster.ops}/operator/v1/accounts`, {
          method: 'POST',
          token,
          body,
          headers: { 'content-encoding': encoding },
        });
      expect((await sent(OPERATOR_TOKEN, 'gzip', gzipSync(plain))).status).toBe(201);
      expect((await sent(OPERATOR_TOKEN, 'br', brotliCompressSync(plain))).status).toBe(400);
      expect((await sent('wrong', 'gzip', Buffer.from('no gzip'))).status).toBe(401);
    });

    test('the list comes in pages, to the end, each account once and in order', async () => {
      for (let i = 0; i < 3; i += 1) await account(`paged ${i}`);
      const whole = ((await operate('/accounts?limit=1000')).body['accounts'] as { accountId: string }[]).map(
        (it) => it.accountId,
      );
      const paged: string[] = [];
      let after: unknown = '';
      do {
        const page = await operate(`/accounts?limit=1${after === '' ? '' : `&after=${String(after)}`}`);
        const items = page.body['accounts'] as { accountId: string }[];
        expect(items).toHaveLength(1);
        paged.push(...items.map((it) => it.accountId));
        after = page.body['next'];
      } while (after !== undefined);
      expect(paged).toEqual(whole);
      expect(paged.toSorted()).toEqual(paged);
      expect((await operate('/accounts?limit=1000')).body['next']).toBeUndefined();
      expect((await operate(`/accounts?after=${paged.at(-1)}`)).body).toEqual({ accounts: [] });
    });

    test.each([
      ['limit=0', 'no page'],
      ['limit=1001', 'more than a page may hold'],
      ['limit=-1', 'a negative one'],
      ['limit=1.5', 'half an account'],
      ['limit=ten', 'words'],
      ['limit=1e2', 'an exponent'],
      ['limit=0x10', 'another base'],
      ['limit=%2010', 'a space'],
      ['limit=', 'nothing'],
      ['after=', 'after nothing'],
      ['after=..%2F..%2Fhead', 'a path'],
    ])('?%s is refused (%s)', async (query) => {
      expect(await operate(`/accounts?${query}`)).toMatchObject(INVALID_REQUEST);
    });

    test('the last place of an account goes to one key, also where memory is behind and the store is read twice', async () => {
      let late: FaultyStore | undefined;
      const wrapStore = (real: Store): Store => (late = faultyStore(real));
      await using one = await backend.fresh({ wrapStore, clock: new FakeClock(), env: { MUSTER_ROLES: 'api,device' } });
      const { accountId } = await tenant(one);
      const keys = Array.from({ length: LIMITS.apiKeysPerAccountMax - 2 }, (_, n) => {
        const keyId = String(n).padStart(12, 'x');
        return put(KEYS.apiKey(accountId, keyId), { name: 'ci', hash: `hash-${n}`, createdAt: 1 });
      });
      const store = late ?? expect.unreachable('it has a store');
      store.deaf = true;
      await write(store, keys);
      const create = (): Promise<Answer> =>
        call(`${one.ops}/operator/v1/accounts/${accountId}/api-keys`, { method: 'POST', token: OPERATOR_TOKEN });
      let meanwhile: Answer | undefined;
      store.intercept('list', 'after', async () => (meanwhile = await create()));
      expect([(await create()).status, meanwhile?.status]).toEqual([400, 201]);
    });

    test('a list that may lack accounts is not given: while memory is behind the store it is 502', async () => {
      let late: FaultyStore | undefined;
      const wrapStore = (real: Store): Store => (late = faultyStore(real));
      await using hasty = await backend.fresh({ wrapStore, deadlines: DEADLINES });
      const list = (): Promise<Answer> => call(`${hasty.ops}/operator/v1/accounts`, { token: OPERATOR_TOKEN });
      if (late) late.deaf = true;
      const { accountId } = await tenant(hasty);
      const behind = await afterLooks(list());
      if (late) late.deaf = false;
      late?.sever();
      expect(behind).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
      await expect.poll(async () => (await list()).text).toContain(accountId);
    });
  });

  describe('PATCH', () => {
    test.each<[object, object]>([
      [{}, {}],
      [{ name: 'new' }, { name: 'new' }],
      [{ entitlement: 'enterprise' }, { entitlement: 'enterprise' }],
      [{ disabled: true }, { disabled: true }],
      [
        { name: 'new', entitlement: 'enterprise', disabled: true },
        { name: 'new', entitlement: 'enterprise', disabled: true },
      ],
    ])('%j changes what it names, and nothing else', async (patch, changed) => {
      const accountId = await account();
      const before = (await operate(`/accounts/${accountId}`)).body;
      const answer = await changeAccount(muster, accountId, patch);
      expect(answer).toMatchObject({ status: 200, body: { ...before, ...changed } });
      expect((await operate(`/accounts/${accountId}`)).text).toBe(answer.text);
    });

    test.each<[object | string]>([
      [{ name: '' }],
      [{ name: null }],
      [{ entitlement: null }],
      [{ entitlement: 'gold' }],
      [{ disabled: 'true' }],
      [{ disabled: null }],
      [{ name: 'good', disabled: 1 }],
      ['null'],
    ])('%j is refused, and nothing is changed', async (patch) => {
      const accountId = await account();
      const before = await operate(`/accounts/${accountId}`);
      expect(await operate(`/accounts/${accountId}`, { method: 'PATCH', body: patch })).toMatchObject(INVALID_REQUEST);
      expect((await operate(`/accounts/${accountId}`)).text).toBe(before.text);
    });

    test('two at once that change different fields both hold', async () => {
      const accountId = await account();
      await Promise.all([
        changeAccount(muster, accountId, { name: 'one' }),
        changeAccount(muster, accountId, { entitlement: 'enterprise' }),
      ]);
      expect((await operate(`/accounts/${accountId}`)).body).toMatchObject({ name: 'one', entitlement: 'enterprise' });
    });

    test('disabled: /v1 is 401 account_disabled on the next request, and works again once enabled', async () => {
      const { accountId, apiKey } = await tenant(muster);
      expect((await apps(apiKey)).status).toBe(200);
      await changeAccount(muster, accountId, { disabled: true });
      expect(await apps(apiKey)).toMatchObject({ status: 401, body: { error: { code: 'account_disabled' } } });
      await changeAccount(muster, accountId, { disabled: false });
      expect((await apps(apiKey)).status).toBe(200);
    });
  });

  describe('an unknown record is 404', () => {
    test.each([
      ['GET', `/accounts/${NOBODY}`],
      ['PATCH', `/accounts/${NOBODY}`],
      ['GET', `/accounts/${NOBODY}/api-keys`],
      ['POST', `/accounts/${NOBODY}/api-keys`],
      ['DELETE', `/accounts/${NOBODY}/api-keys/${'a'.repeat(12)}`],
      ['GET', `/accounts/${NOBODY}/audit`],
      ['GET', '/accounts/short'],
      ['GET', '/accounts/..%2f..%2fhead'],
      ['GET', `/accounts/${'A'.repeat(16)}`],
      ['GET', '/accounts/%zz'],
      ['GET', '/accounts/'],
      ['GET', '/Accounts'],
      ['GET', '/'],
    ])('%s %s', async (method, path) => {
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
      expect(await operate(path, { method, ...body })).toMatchObject(NOT_FOUND);
    });

    test.each([
      ['PUT', '/accounts', 'GET, HEAD, POST'],
      ['DELETE', `/accounts/${NOBODY}`, 'GET, HEAD, PATCH'],
      ['PATCH', `/accounts/${NOBODY}/api-keys`, 'GET, HEAD, POST'],
      ['GET', `/accounts/${NOBODY}/api-keys/${'a'.repeat(12)}`, 'DELETE, PATCH'],
      ['POST', `/accounts/${NOBODY}/audit`, 'GET, HEAD'],
    ])('%s %s, with Allow: %s', async (method, path, allow) => {
      const answer = await operate(path, { method });
      expect(answer).toMatchObject(NOT_FOUND);
      expect(answer.headers.get('allow')?.split(', ').toSorted().join(', ')).toBe(allow);
    });
  });

  test('a store that is down is 502 with Retry-After, and nothing is half-written', async () => {
    const accountId = await account();
    const before = await operate(`/accounts/${accountId}`);
    store.outage(true);
    const answers = [
      await operate('/accounts'),
      await operate(`/accounts/${accountId}`),
      await changeAccount(muster, accountId, { disabled: true }),
      await post(`/accounts/${accountId}/api-keys`, {}),
      await operate(`/accounts/${accountId}/audit`),
    ];
    store.outage(false);
    for (const { status, headers, body } of answers) {
      expect({ status, body }).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    expect((await operate(`/accounts/${accountId}`)).text).toBe(before.text);
    expect((await operate(`/accounts/${accountId}/api-keys`)).body).toEqual({ apiKeys: [] });
  });
});
