import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exchange, header } from '../../support/http/raw-http.ts';
import {
  changeAccount,
  deleteApp,
  enrollOwn,
  issueCode,
  metric,
  ownCredential,
  readApp,
  revoke,
  setOtel,
} from '../../support/service/daemon.ts';
import { call, createApp, enroll, poll, tenant, type Muster, type Tenant } from '../../support/service/muster.ts';
import { describeOnce, onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const NEVER_STORED = { enabled: false, endpoint: '', headers: {}, evidenceLevel: 'hashes' };
const INVALID_CREDENTIAL = { status: 401, body: { error: { code: 'invalid_credential' } } };

onEachBackend('the configuration poll', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh({ clock });
    owner = await tenant(muster);
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  async function daemon(apiKey = owner.apiKey, connection: 'cloud' | 'private' = 'cloud') {
    const app = await createApp(muster, apiKey);
    return { ...app, credential: await enroll(muster, app, connection) };
  }
  const etagOf = async (credential: string): Promise<string> =>
    (await poll(muster, credential)).headers.get('etag') ?? '';

  describe('tells the configuration', () => {
    test('never stored, stored, changed, purged: each under another ETag and a greater revision', async () => {
      const { apiKey } = await tenant(muster);
      const { credential } = await daemon(apiKey);
      const told = [await poll(muster, credential)];
      await setOtel(muster, apiKey, { authHeader: 'Bearer collector', evidenceLevel: 'full' });
      told.push(await poll(muster, credential));
      await setOtel(muster, apiKey, { authHeader: 'X-Api-Key: collector' });
      told.push(await poll(muster, credential));
      await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: apiKey });
      told.push(await poll(muster, credential));
      const endpoint = 'https://otel.example.com';
      expect(told.map(({ body }) => [body['revision'], body['otel']])).toEqual([
        [0, NEVER_STORED],
        [1, { enabled: true, endpoint, headers: { Authorization: 'Bearer collector' }, evidenceLevel: 'full' }],
        [2, { enabled: true, endpoint, headers: { 'X-Api-Key': 'collector' }, evidenceLevel: 'hashes' }],
        [3, NEVER_STORED],
      ]);
      expect(new Set(told.map(({ headers }) => headers.get('etag'))).size).toBe(4);
      for (const { headers } of told) expect(headers.get('etag')).toMatch(/^"[^"]+"$/);
    });

    test('and nothing more than its fields', async () => {
      const { credential } = await daemon();
      const { body, headers } = await poll(muster, credential);
      expect(Object.keys(body)).toEqual(['revision', 'pollIntervalSeconds', 'otel']);
      expect(headers.get('cache-control')).toBe('no-store, no-transform');
      expect(headers.get('content-type')).toBe('application/json');
    });

    test('to HEAD without a body', async () => {
      const { credential } = await daemon();
      const head = await call(`${muster.device}/device/v1/config`, { method: 'HEAD', token: credential });
      expect(head).toMatchObject({ status: 200, text: '' });
      expect(head.headers.get('etag')).toBe(await etagOf(credential));
    });

    test('the same ETag for the same content, poll after poll', async () => {
      const { credential } = await daemon();
      expect(await etagOf(credential)).toBe(await etagOf(credential));
    });
  });

  describeOnce(backend, 'If-None-Match', () => {
    test.each<[string, (etag: string) => string, number]>([
      ['its own tag', (etag) => etag, 304],
      ['compared weakly (RFC 9110, 13.1.2)', (etag) => `W/${etag}`, 304],
      ['in a list', (etag) => `"other", ${etag} ,"more"`, 304],
      ['in a list of weak ones', (etag) => `W/"other",W/${etag}`, 304],
      ['as mod_deflate changes it', (etag) => `${etag.slice(0, -1)}-gzip"`, 304],
      ['as two proxies change it', (etag) => `W/${etag.slice(0, -1)}-gzip"`, 304],
      ['any', () => '*', 304],
      ['another tag', () => '"other"', 200],
      ['its tag without quotes', (etag) => etag.slice(1, -1), 200],
      ['the beginning of its tag', (etag) => `${etag.slice(0, -2)}"`, 200],
      ['a star in quotes', () => '"*"', 200],
      ['nothing', () => '', 200],
    ])('%s', async (_what, field, status) => {
      const { credential } = await daemon();
      const etag = await etagOf(credential);
      const answer = await poll(muster, credential, { 'if-none-match': field(etag) });
      expect(answer.status).toBe(status);
      expect(answer.headers.get('etag')).toBe(etag);
      expect(answer.text === '').toBe(status === 304);
    });

    test('304 bears neither body nor its headers', async () => {
      const { credential } = await daemon();
      const etag = await etagOf(credential);
      const request = `GET /device/v1/config HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${credential}\r\nIf-None-Match: ${etag}\r\n\r\n`;
      const answer = await exchange(muster.service.device.port, request);
      expect(answer.raw.endsWith('\r\n\r\n')).toBe(true);
      expect([header(answer, 'content-type'), header(answer, 'content-length')]).toEqual([undefined, undefined]);
    });

    test('content and 304 are counted apart', async () => {
      const { credential } = await daemon();
      const counts = () =>
        Promise.all(
          ['content', 'not_modified'].map((result) => metric(muster, `muster_polls_total{result="${result}"}`)),
        );
      const [content = 0, notModified = 0] = await counts();
      const etag = await etagOf(credential);
      await poll(muster, credential, { 'if-none-match': etag });
      expect(await counts()).toEqual([content + 1, notModified + 1]);
    });
  });

  describeOnce(backend, 'pollIntervalSeconds', () => {
    test('is spread over ±10 %, fixed per app, and told by enrollment and poll alike', async () => {
      const intervals: number[] = [];
      for (let i = 0; i < 20; i += 1) {
        const app = await createApp(muster, owner.apiKey);
        const enrolled = await enrollOwn(muster, app, ownCredential().hash);
        const credential = await enroll(muster, await issueCode(muster, owner.apiKey, app.appId));
        const [one, again] = [await poll(muster, credential), await poll(muster, credential)];
        const interval = enrolled.body['pollIntervalSeconds'];
        expect([one.body['pollIntervalSeconds'], again.body['pollIntervalSeconds']]).toEqual([interval, interval]);
        intervals.push(Number(interval));
      }
      for (const interval of intervals)
        expect(interval).toSatisfy((it: number) => Number.isInteger(it) && it >= 54 && it <= 66);
      expect(new Set(intervals).size).toBeGreaterThan(5);
    });
  });

  describe('O11: who receives it', () => {
    test('not a private device; it does when it enrolls again as cloud, and no more when as private', async () => {
      const { apiKey } = await tenant(muster);
      await setOtel(muster, apiKey);
      const { appId, credential } = await daemon(apiKey, 'private');
      expect((await poll(muster, credential)).body).toMatchObject({ revision: 0, otel: NEVER_STORED });
      const cloud = await enroll(muster, await issueCode(muster, apiKey, appId), 'cloud');
      expect((await poll(muster, cloud)).body).toMatchObject({ revision: 1, otel: { enabled: true } });
      const back = await enroll(muster, await issueCode(muster, apiKey, appId), 'private');
      expect((await poll(muster, back)).body).toMatchObject({ revision: 0, otel: NEVER_STORED });
    });

    test('not a downgraded account, on the very next poll; again when it is upgraded', async () => {
      const { apiKey, accountId } = await tenant(muster);
      await setOtel(muster, apiKey, { authHeader: 'Bearer collector' });
      const { credential } = await daemon(apiKey);
      const first = await poll(muster, credential);
      const etag = first.headers.get('etag') ?? '';
      await changeAccount(muster, accountId, { entitlement: 'standard' });
      const down = await poll(muster, credential, { 'if-none-match': etag });
      expect(down).toMatchObject({ status: 200, body: { revision: 0, otel: NEVER_STORED } });
      expect(down.text).not.toContain('collector');
      await changeAccount(muster, accountId, { entitlement: 'enterprise' });
      const up = await poll(muster, credential, { 'if-none-match': down.headers.get('etag') ?? '' });
      expect(up).toMatchObject({ status: 200, text: first.text });
    });

    test('not a device of another account', async () => {
      const [one, other] = [await tenant(muster), await tenant(muster)];
      await setOtel(muster, one.apiKey, { authHeader: 'Bearer collector' });
      const { credential } = await daemon(other.apiKey);
      expect((await poll(muster, credential)).body).toMatchObject({ revision: 0, otel: NEVER_STORED });
    });
  });

  describe('the daemons that may poll', () => {
    test.each<[string, (muster: Muster, apiKey: string, app: { appId: string }) => Promise<unknown>]>([
      ['revoked', (muster, apiKey, { appId }) => revoke(muster, apiKey, appId)],
      ['deleted', (muster, apiKey, { appId }) => deleteApp(muster, apiKey, appId)],
      ['swapped', async (muster, apiKey, { appId }) => enroll(muster, await issueCode(muster, apiKey, appId))],
    ])(
      'not a credential that was %s: refused on the very next poll, and told to come back rarely',
      async (_how, end) => {
        const { appId, credential } = await daemon();
        expect((await poll(muster, credential)).status).toBe(200);
        await end(muster, owner.apiKey, { appId });
        const refused = await poll(muster, credential);
        expect(refused).toMatchObject(INVALID_CREDENTIAL);
        expect(refused.headers.get('www-authenticate')).toBe('Bearer');
        expect(Number(refused.headers.get('retry-after'))).toSatisfy((it: number) => it >= 1800 && it <= 3600);
      },
    );

    test.each<[string | undefined, string]>([
      [undefined, 'none'],
      ['', 'an empty one'],
      [`mst_dev_${'a'.repeat(43)}`, 'one that nobody has'],
      ['mst_dev_short', 'one of a wrong shape'],
      ['x'.repeat(8000), 'a very long one'],
    ])('not with the credential %.20s (%s)', async (token) => {
      expect(await call(`${muster.device}/device/v1/config`, { token })).toMatchObject(INVALID_CREDENTIAL);
    });

    test('not with an API key, an operator token or an enrollment code', async () => {
      const { enrollCode } = await createApp(muster, owner.apiKey);
      for (const token of [owner.apiKey, enrollCode])
        expect(await poll(muster, token)).toMatchObject(INVALID_CREDENTIAL);
    });

    test('not with two Authorization fields, though both are right', async () => {
      const { credential } = await daemon();
      const field = `Authorization: Bearer ${credential}\r\n`;
      const ask = (fields: string) =>
        exchange(muster.service.device.port, `GET /device/v1/config HTTP/1.1\r\nHost: a\r\n${fields}\r\n`);
      expect((await ask(field)).status).toBe(200);
      expect((await ask(field + field)).status).toBe(401);
    });

    test('not while the account is disabled, and again once it is not', async () => {
      const other = await tenant(muster);
      const { credential } = await daemon(other.apiKey);
      await changeAccount(muster, other.accountId, { disabled: true });
      expect(await poll(muster, credential)).toMatchObject({
        status: 401,
        body: { error: { code: 'account_disabled' } },
      });
      await changeAccount(muster, other.accountId, { disabled: false });
      expect((await poll(muster, credential)).status).toBe(200);
    });
  });

  describe('Muster-Platform and Muster-Agent-Version', () => {
    const report = (platform: string, version: string) => ({
      'muster-platform': platform,
      'muster-agent-version': version,
    });
    const shown = async (appId: string): Promise<unknown> => {
      const { platform, agentVersion } = await readApp(muster, owner.apiKey, appId);
      return [platform, agentVersion];
    };

    test('update the record; a field that is not sent stays', async () => {
      const { appId, credential } = await daemon();
      await poll(muster, credential, report('linux/arm64', '2.0.0'));
      await expect.poll(() => shown(appId)).toEqual(['linux/arm64', '2.0.0']);
      clock.advance(3_600_000);
      await poll(muster, credential, { 'muster-agent-version': '2.0.1' });
      await expect.poll(() => shown(appId)).toEqual(['linux/arm64', '2.0.1']);
    });

    test('are written at most once an hour, however often a daemon changes them', async () => {
      const { appId, credential } = await daemon();
      const reported = () => metric(muster, 'muster_mutations_total{action="app.reported"}');
      const before = await reported();
      for (let i = 0; i < 5; i += 1) await poll(muster, credential, report('linux', `2.0.${i}`));
      await expect.poll(() => shown(appId)).toEqual(['linux', '2.0.0']);
      clock.advance(3_600_000);
      await poll(muster, credential, report('linux', '2.0.9'));
      await expect.poll(() => shown(appId)).toEqual(['linux', '2.0.9']);
      expect(await reported()).toBe(before + 2);
    });

    test('are ignored where enrollment would not take them; the poll is answered all the same', async () => {
      const { appId, credential } = await daemon();
      expect((await poll(muster, credential, report('p'.repeat(129), ''))).status).toBe(200);
      expect((await poll(muster, credential, report('', '\t'))).status).toBe(200);
      await poll(muster, credential, report('~'.repeat(128), '3'));
      await expect.poll(() => shown(appId)).toEqual(['~'.repeat(128), '3']);
    });
  });

  describeOnce(backend, 'another method or path', () => {
    test.each([
      ['POST', '/device/v1/config', 'GET, HEAD'],
      ['GET', '/device/v1/enroll', 'POST'],
      ['OPTIONS', '/device/v1/config/ack', 'POST'],
      ['GET', '/device/v1/config/', null],
      ['GET', '/device/v1/Config', null],
      ['GET', '/v1/apps', null],
      ['GET', '/', null],
    ])('%s %s → 404, Allow: %s', async (method, path, allow) => {
      const answer = await call(muster.device + path, { method, undocumented: 'another listener' });
      expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
      expect(answer.headers.get('allow')).toBe(allow);
    });
  });
});
