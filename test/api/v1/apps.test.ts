import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROUTES } from '../../../src/api/v1/gateway.ts';
import { exchange } from '../../support/http/raw-http.ts';
import { createApp, tenant, type Answer, type Muster } from '../../support/service/muster.ts';
import { asCaller, DAY_MS, expectRefusal, type Ask } from '../../support/service/v1.ts';
import { describeOnce, onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const APP_ID = /^[a-z0-9]{20}$/;
const CODE = /^mst_code_[0-9A-Za-z]{49}$/;
const isoAt = (at: number): string => new Date(at).toISOString();

/** The operations that take no body, each with the status of its success. */
const WITHOUT_BODY = ROUTES.filter(({ body }) => body === undefined).map(
  ({ method, path, answers: [{ status }] }) => [method.toUpperCase(), path, status] as const,
);

onEachBackend('apps', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  beforeAll(async () => {
    muster = await backend.fresh({ clock });
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
  });

  async function caller(): Promise<{ ask: Ask; apiKey: string }> {
    const { apiKey } = await tenant(muster);
    return { ask: asCaller(muster, apiKey), apiKey };
  }
  const listed = (answer: Answer): Record<string, unknown>[] => answer.body['apps'] as Record<string, unknown>[];

  test('4.1: a new app is told with exactly its documented fields, and a code of 30 days', async () => {
    const { ask } = await caller();
    const created = await ask('POST /v1/apps', { body: { name: 'Büro 7' } });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      appId: expect.stringMatching(APP_ID) as string,
      name: 'Büro 7',
      status: 'pending',
      enrollCode: expect.stringMatching(CODE) as string,
      enrollCodeExpiresAt: isoAt(clock.now() + 30 * DAY_MS),
    });
  });

  test('4.2, 4.3, A2, H20: before enrollment only the dates are null or set, and list and record say the same', async () => {
    const { ask } = await caller();
    expect((await ask('GET /v1/apps')).text).toBe('{"apps":[]}');
    const { appId } = (await ask('POST /v1/apps', { body: { name: 'one' } })).body;
    const app = {
      appId,
      name: 'one',
      status: 'pending',
      platform: '',
      agentVersion: '',
      lastSeenAt: null,
      createdAt: isoAt(clock.now()),
    };
    expect(await ask(`GET /v1/apps/${String(appId)}`)).toMatchObject({ status: 200, body: app });
    expect((await ask('GET /v1/apps')).body).toEqual({ apps: [app] });
    expect(app.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  describeOnce(backend, 'the body of a create', () => {
    test.each<[string, string, string]>([
      ['{"name":""}', '', 'the empty name is a name'],
      ['{"name":" x "}', ' x ', 'a name is not trimmed'],
      [`{"name":"${'a'.repeat(100)}"}`, 'a'.repeat(100), '100 characters'],
      [`{"name":"${'😀'.repeat(100)}"}`, '😀'.repeat(100), '100 code points of two code units each'],
      ['{"name":"\\ud83d\\ude00"}', '😀', 'a pair of surrogates, escaped'],
      ['{"name":"a\\u0000b<script>"}', 'a\0b<script>', 'control characters are characters'],
      ['{}', '', 'name is optional'],
      ['{"name":"a","name":"b"}', 'b', 'of a repeated name the last one counts'],
      ['{"name":"a","status":"active","appId":"x","enrollCode":1}', 'a', 'read-only and unknown fields are ignored'],
      ['{"__proto__":{"name":5}}', '', '__proto__ is a field like any other'],
      ['{"constructor":{"name":5},"toString":1}', '', 'what every object inherits was not sent'],
      ['\ufeff{"name":"a"}', 'a', 'a byte order mark'],
      ['\n {"name":"a"}\t', 'a', 'white space around'],
    ])('A1, H5: %.40s names the app (%s; %s)', async (body, name) => {
      const { ask } = await caller();
      const created = await ask('POST /v1/apps', { body });
      expect(created).toMatchObject({ status: 201, body: { name } });
      expect(listed(await ask('GET /v1/apps'))).toMatchObject([{ appId: created.body['appId'], name }]);
    });

    test.each<[string, string]>([
      [`{"name":"${'a'.repeat(101)}"}`, '101 characters'],
      [`{"name":"${'😀'.repeat(100)}a"}`, '101 code points'],
      ['{"name":null}', 'null is not a string'],
      ['{"name":7}', 'a number'],
      ['{"name":["a"]}', 'an array'],
      ['{"name":{"toString":"a"}}', 'an object'],
      ['{"name":"\\ud800"}', 'a lone surrogate'],
      ['{"name":"a\\ude00\\ud83d"}', 'a pair in the wrong order'],
      ['{"name":"a"', 'JSON that ends too early'],
      ["{'name':'a'}", 'not JSON'],
      ['[]', 'JSON, but no object'],
      ['"name"', 'a JSON text'],
      ['null', 'JSON null'],
      [' ', 'white space alone'],
    ])('A1, H2: %.40s is invalid_name and creates nothing (%s)', async (body) => {
      const { ask } = await caller();
      expectRefusal(await ask('POST /v1/apps', { body }), 'invalid_name');
      expect(listed(await ask('GET /v1/apps'))).toEqual([]);
    });

    test.each<[string, string]>([
      ['', 'neither body nor Content-Type'],
      ['Content-Length: 0\r\n', 'Content-Length: 0'],
      ['Content-Type: application/json\r\nContent-Length: 0\r\n', 'Content-Type and no body'],
      ['Content-Type: application/json\r\n', 'Content-Type and no length'],
    ])('H3: an empty body creates an app without a name: %j (%s)', async (headers) => {
      const { apiKey } = await caller();
      const head = `POST /v1/apps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\n${headers}\r\n`;
      const created = await exchange(muster.service.api.port, head);
      expect(created.status).toBe(201);
      expect(JSON.parse(created.body)).toMatchObject({ name: '', status: 'pending' });
    });

    test('H3: so does a chunked body without a chunk', async () => {
      const { apiKey } = await caller();
      const head = `POST /v1/apps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`;
      const created = await exchange(muster.service.api.port, head);
      expect(created.status).toBe(201);
    });
  });

  test('H18: the list is in the order of creation, of one instant in that of the ids, whatever the query', async () => {
    const { ask, apiKey } = await caller();
    const late = await createApp(muster, apiKey, 'late');
    clock.jump(-5000);
    const early = await createApp(muster, apiKey, 'early');
    clock.jump(2000);
    const together = await Promise.all(Array.from({ length: 6 }, () => createApp(muster, apiKey, 'together')));
    clock.jump(3000);
    const ids = together.map(({ appId }) => appId).sort();
    const order = [early.appId, ...ids, late.appId];
    expect(listed(await ask('GET /v1/apps')).map((app) => app['appId'])).toEqual(order);
    const filtered = await ask('GET /v1/apps?limit=1&after=x&name=late&__proto__=1&%zz');
    expect(listed(filtered).map((app) => app['appId'])).toEqual(order);
  });

  test('the list is as new as the request, after every kind of change', async () => {
    const { ask, apiKey } = await caller();
    const { appId } = await createApp(muster, apiKey);
    expect(listed(await ask('GET /v1/apps'))).toMatchObject([{ status: 'pending' }]);
    await ask(`POST /v1/apps/${appId}/revoke`);
    expect(listed(await ask('GET /v1/apps'))).toMatchObject([{ status: 'revoked' }]);
    await ask(`DELETE /v1/apps/${appId}`);
    expect(listed(await ask('GET /v1/apps'))).toEqual([]);
  });

  describeOnce(backend, 'requests without a body', () => {
    test.each(WITHOUT_BODY)(
      'H6: %s %s takes no body, and ignores one that is junk or too large',
      async (method, path, status) => {
        for (const body of ['{"name":', 'x'.repeat(70_000)]) {
          const { apiKey } = await caller();
          const { appId } = await createApp(muster, apiKey);
          const head = `${method} ${path.replace(':appId', appId)} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\n`;
          const answer = await exchange(
            muster.service.api.port,
            `${head}Content-Length: ${body.length}\r\n\r\n${body}`,
          );
          expect(answer.status).toBe(status);
        }
      },
    );

    test('H11: HEAD is GET without the body', async () => {
      const { ask, apiKey } = await caller();
      const { appId } = await createApp(muster, apiKey);
      for (const [, template] of WITHOUT_BODY.filter(([method]) => method === 'GET')) {
        const path = template.replace(':appId', appId);
        const [get, head] = [await ask(`GET ${path}`), await ask(`HEAD ${path}`)];
        expect(head).toMatchObject({ status: 200, text: '' });
        expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)));
        expect(head.headers.get('content-type')).toBe('application/json');
      }
    });
  });
});
