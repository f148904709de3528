import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERRORS } from '../../../src/api/http/errors.ts';
import { ROUTES } from '../../../src/api/v1/gateway.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { generateApiKey } from '../../../src/domain/credentials/tokens.ts';
import type { Store } from '../../../src/store/port.ts';
import { exchange, type RawAnswer } from '../../support/http/raw-http.ts';
import { call, Muster, tenant, type Answer, type Tenant } from '../../support/service/muster.ts';
import { asCaller, asOperator, expectRefusal, SECTION_7, type Ask } from '../../support/service/v1.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const NAMED = Buffer.from('{"name":"packed"}');
const JSON_OF_64_KIB = `{"name":"fits"${' '.repeat(65_536 - 15)}}`;

/** Counts what authentication may ask the store. */
let storeReads = 0;
const counting = (store: Store): Store =>
  wrappedStore(store, {
    head: () => {
      storeReads += 1;
      return store.head();
    },
    get: (key) => {
      storeReads += 1;
      return store.get(key);
    },
  });

describe('HTTP of /v1', () => {
  let muster: Muster;
  let caller: Tenant;
  let ask: Ask;
  beforeAll(async () => {
    // The clock stands still: no loop of the service reads the store.
    muster = await Muster.start({ clock: new FakeClock(Date.now()), wrapStore: counting });
    caller = await tenant(muster);
    ask = asCaller(muster, caller.apiKey);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
  });

  const raw = async (request: string, headers: string[], body: string | Buffer = ''): Promise<RawAnswer> => {
    const head = [`${request} HTTP/1.1`, 'Host: a', ...headers, 'Connection: close', '', ''].join('\r\n');
    return await exchange(muster.service.api.port, Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]));
  };
  const post = async (body: string | Buffer, headers: Record<string, string> = {}): Promise<Answer> =>
    await ask('POST /v1/apps', { body, headers });

  test.each<[string, (key: string) => string[]]>([
    ['the scheme in lower case', (key) => [`Authorization: bearer ${key}`]],
    ['the scheme in capitals', (key) => [`AUTHORIZATION: BEARER ${key}`]],
    ['two spaces behind the scheme', (key) => [`Authorization: Bearer  ${key}`]],
    ['white space at the end of the field', (key) => [`Authorization: Bearer ${key} \t`]],
  ])('H16: a key is taken with %s', async (_what, headers) => {
    expect((await raw('GET /v1/apps', headers(caller.apiKey))).status).toBe(200);
  });

  test.each<[string, (key: string) => string[]]>([
    ['no field', () => []],
    ['an empty field', () => ['Authorization: ']],
    ['another scheme', (key) => [`Authorization: Basic ${key}`]],
    ['no scheme', (key) => [`Authorization: ${key}`]],
    ['no space', (key) => [`Authorization: Bearer${key}`]],
    ['more behind the key', (key) => [`Authorization: Bearer ${key} x`]],
    ['two keys in one field', (key) => [`Authorization: Bearer ${key}, Bearer ${key}`]],
    ['the same field twice', (key) => [`Authorization: Bearer ${key}`, `Authorization: Bearer ${key}`]],
    ['a second field in another case', (key) => [`Authorization: Bearer ${key}`, 'aUTHORIZATION: x']],
    ['a second, empty field in front', (key) => ['Authorization:', `Authorization: Bearer ${key}`]],
    ['another field of that kind', (key) => [`Proxy-Authorization: Bearer ${key}`, `X-Api-Key: ${key}`]],
    ['a wrong checksum', (key) => [`Authorization: Bearer ${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`]],
    ['another case', (key) => [`Authorization: Bearer ${key.toUpperCase()}`]],
    ['the prefix of a daemon', (key) => [`Authorization: Bearer ${key.replace('_live_', '_dev_')}`]],
    ['a secret of another length', (key) => [`Authorization: Bearer ${key}0`]],
    ['bytes beyond ASCII', (key) => [`Authorization: Bearer ${key}\xe9`]],
  ])('H16: invalid_key without a read of the store: %s', async (_what, headers) => {
    const before = storeReads;
    const answer = await raw('GET /v1/apps', headers(caller.apiKey));
    expect(answer).toMatchObject({ status: 401, body: expect.stringContaining('"invalid_key"') as string });
    expect(answer.headers.get('www-authenticate')).toEqual(['Bearer']);
    expect(answer.headers.get('ratelimit'), 'nobody is charged').toBeUndefined();
    expect(storeReads).toBe(before);
  });

  test('H16: an unknown key of the right shape is looked up, and refused alike', async () => {
    const before = storeReads;
    const unknown = generateApiKey(systemRandom()).token.reveal();
    expectRefusal(await asCaller(muster, unknown)('GET /v1/apps'), 'invalid_key');
    expect(storeReads).toBeGreaterThan(before);
  });

  test('H16: the id of a known key does not help with another secret', async () => {
    const places = caller.keyId.split('').map((character) => 'abcdefghijklmnopqrstuvwxyz0123456789'.indexOf(character));
    const draws = [Buffer.from(places)];
    const { keyId, token } = generateApiKey({ bytes: (count) => draws.pop() ?? systemRandom().bytes(count) });
    expect(keyId).toBe(caller.keyId);
    expectRefusal(await asCaller(muster, token.reveal())('GET /v1/apps'), 'invalid_key');
  });

  test('A12: a revoked key and a disabled account are refused on the next request; another key goes on', async () => {
    const account = await tenant(muster);
    const operator = asOperator(muster);
    const second = await operator(`POST /accounts/${account.accountId}/api-keys`);
    const [one, two] = [asCaller(muster, account.apiKey), asCaller(muster, String(second.body['apiKey']))];
    await operator(`DELETE /accounts/${account.accountId}/api-keys/${account.keyId}`);
    expectRefusal(await one('GET /v1/apps'), 'invalid_key');
    expect((await two('GET /v1/apps')).status).toBe(200);
    await operator(`PATCH /accounts/${account.accountId}`, { body: { disabled: true } });
    const disabled = await two('POST /v1/apps');
    expectRefusal(disabled, 'account_disabled');
    expect(disabled.headers.get('www-authenticate')).toBe('Bearer');
    await operator(`PATCH /accounts/${account.accountId}`, { body: { disabled: false } });
    expect((await two('GET /v1/apps')).body).toEqual({ apps: [] });
  });

  test.each<[string | undefined, string]>([
    [undefined, 'none'],
    ['text/plain', 'another type'],
    ['application/x-www-form-urlencoded', 'a form'],
    ['multipart/form-data', 'a form in parts, without its boundary'],
    ['application/json; charset=utf-16', 'another charset'],
    ['junk', 'no type at all'],
  ])('H4: a body is JSON whatever its Content-Type says: %s (%s)', async (type) => {
    const headers = type === undefined ? [] : [`Content-Type: ${type}`];
    const length = `Content-Length: ${NAMED.length}`;
    const created = await raw('POST /v1/apps', [`Authorization: Bearer ${caller.apiKey}`, ...headers, length], NAMED);
    expect(created).toMatchObject({ status: 201, body: expect.stringContaining('"name":"packed"') as string });
  });

  test.each(['[]', '1', '"x"', 'null', 'true', '', '{', '{"enabled":true}x', '\ufffe'])(
    'H2: PUT of %j is invalid_enabled',
    async (body) => {
      expectRefusal(await ask('PUT /v1/otel-config', { body }), 'invalid_enabled');
    },
  );

  test('H2: and says what is wrong with the body', async () => {
    expect((await post('[]')).text).toContain('The body must be a JSON object.');
    expect((await post('{')).text).toContain('The body is not valid JSON.');
    const broken = await post(Buffer.from([0x7b, 0xff, 0x7d]));
    expect(broken.text).toContain('The body is not UTF-8.');
    expectRefusal(broken, 'invalid_name');
  });

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['identity', (bytes) => bytes],
  ])('H7: %s is unpacked, and bounded by what it unpacks to', async (encoding, pack) => {
    const headers = { 'content-encoding': encoding };
    expect(await post(pack(NAMED), headers)).toMatchObject({ status: 201, body: { name: 'packed' } });
    expect((await post(pack(Buffer.from(JSON_OF_64_KIB)), headers)).status).toBe(201);
    expectRefusal(await post(pack(Buffer.from(`${JSON_OF_64_KIB} `)), headers), 'payload_too_large');
    expectRefusal(await post(pack(Buffer.alloc(10_000_000)), headers), 'payload_too_large');
  });

  test.each([
    ['zstd', NAMED],
    ['gzip, gzip', gzipSync(gzipSync(NAMED))],
    ['gzip', NAMED],
    ['br', brotliCompressSync(NAMED)],
  ])('H7: %s that cannot be unpacked is a body that is no JSON', async (encoding, body) => {
    expectRefusal(await post(body, { 'content-encoding': encoding }), 'invalid_name');
  });

  test('H7: 65 536 bytes pass, 65 537 do not, declared or chunked', async () => {
    const authorization = `Authorization: Bearer ${caller.apiKey}`;
    for (const [body, status] of [
      [JSON_OF_64_KIB, 201],
      [`${JSON_OF_64_KIB} `, 413],
    ] as const) {
      expect((await post(body)).status).toBe(status);
      const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      expect((await raw('POST /v1/apps', [authorization, 'Transfer-Encoding: chunked'], chunks)).status).toBe(status);
    }
  });

  test.each<[string, string | undefined, string]>([
    ['a', 'a', 'one character'],
    ['A-z_0.9', 'A-z_0.9', 'all kinds of characters'],
    ['a'.repeat(128), 'a'.repeat(128), '128 characters'],
    ['a'.repeat(129), undefined, '129 characters'],
    ['', undefined, 'none'],
    ['a b', undefined, 'a space'],
    ['a,b', undefined, 'a comma'],
  ])('H17: X-Request-Id %.20s comes back as %.20s (%s)', async (sent, back) => {
    const fresh = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-z]+$/;
    for (const key of [caller.apiKey, 'wrong']) {
      const answer = await call(`${muster.api}/v1/apps`, { token: key, headers: { 'x-request-id': sent } });
      expect(answer.headers.get('x-request-id')).toMatch(back === undefined ? fresh : new RegExp(`^${back}$`));
    }
  });

  test('H17: every answer bears the same few headers, and no word of the framework', async () => {
    const { appId } = (await ask('POST /v1/apps')).body;
    for (const request of ['GET /v1/apps', 'GET /v1/x', 'GET /', 'POST /v1/apps', `DELETE /v1/apps/${String(appId)}`]) {
      for (const key of [caller.apiKey, 'wrong']) {
        const answer = await raw(request, [`Authorization: Bearer ${key}`]);
        const names = [...answer.headers.keys()].filter((name) => !ALWAYS.includes(name));
        expect(ALWAYS.every((name) => answer.headers.has(name))).toBe(true);
        expect(answer.headers.get('cache-control')).toEqual(['no-store, no-transform']);
        expect(SOMETIMES).toEqual(expect.arrayContaining(names));
        if (answer.status === 204) expect(names).not.toContain('content-type');
        else expect(answer.headers.get('content-type')).toEqual(['application/json']);
      }
    }
  });

  test('section 7: the table of errors says what the specification says', () => {
    expect(SECTION_7.map(([, code]) => [ERRORS[code].status, code])).toEqual(SECTION_7);
  });

  test('section 7: no operation of /v1 can refuse a field with another code', () => {
    const codes: string[] = ROUTES.flatMap(({ refuse }) => Object.values(refuse ?? {}));
    expect(SECTION_7.map(([, code]): string => code)).toEqual(expect.arrayContaining(codes));
  });

  test('section 7: whatever these tests have asked, no answer had another status or code', async () => {
    const { text } = await call(`${muster.ops}/metrics`);
    const seen = [...text.matchAll(/_count\{listener="api",method="\w+",route="[^"]*",status="(\d+)",code="(\w*)"\}/g)];
    const answers = new Set(seen.map(([, status, code]) => `${status} ${code}`));
    const documented = SECTION_7.map((row) => row.join(' '));
    expect([...documented, '200 ', '201 ', '204 ']).toEqual(expect.arrayContaining([...answers]));
    expect(answers.size).toBeGreaterThan(8);
  });
});

const SAFE = ['x-content-type-options', 'content-security-policy'];
const ALWAYS = ['cache-control', 'x-request-id', ...SAFE, 'date', 'connection'];
const SOMETIMES = ['content-type', 'content-length', 'www-authenticate', 'ratelimit', 'ratelimit-policy', 'allow'];
