import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isListening } from '../../support/http/listening.ts';
import { connectRaw, exchange, header } from '../../support/http/raw-http.ts';
import { call, Muster, tenant } from '../../support/service/muster.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

describe('the probes', () => {
  const clock = new FakeClock();
  let muster: Muster;
  let store: FaultyStore;
  beforeAll(async () => {
    muster = await Muster.start({ clock, wrapStore: (real) => (store = faultyStore(real)) });
  });
  afterAll(() => muster[Symbol.asyncDispose]());
  const livez = () => call(`${muster.ops}/livez`);
  const readyz = () => call(`${muster.ops}/readyz`);
  const READY = { status: 200, body: { status: 'ready' } };
  const SILENT = { status: 503, body: { status: 'not ready', reason: expect.stringContaining('store') as string } };

  test('are for anybody, and for GET and HEAD alone', async () => {
    expect(await livez()).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await readyz()).toMatchObject(READY);
    expect((await readyz()).headers.get('cache-control')).toBe('no-store, no-transform');
    for (const path of ['/livez', '/readyz', '/metrics']) {
      expect(await call(muster.ops + path, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
      const post = await call(muster.ops + path, { method: 'POST' });
      expect(post).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
      expect(post.headers.get('allow')).toBe('GET, HEAD');
    }
  });

  test.each<[string, () => () => void]>([
    ['hangs', () => store.stall('head')],
    [
      'throws',
      () => {
        store.outage(true);
        return () => store.outage(false);
      },
    ],
  ])(
    'a store that %s for 5 s takes the replica out of the rotation, not out of life; and it returns by itself',
    async (_how, trouble) => {
      await expect.poll(readyz).toMatchObject(READY);
      const over = trouble();
      clock.advance(4999);
      expect(await readyz()).toMatchObject(READY);
      clock.advance(1);
      expect(await readyz()).toMatchObject(SILENT);
      expect(await livez()).toMatchObject({ status: 200 });
      over();
      await expect
        .poll(async () => {
          clock.advance(1000);
          return await readyz();
        })
        .toMatchObject(READY);
    },
  );

  test('a store that is full answers all the same: the replica stays', async () => {
    store.full = 1;
    clock.advance(1000);
    expect(await readyz()).toMatchObject(READY);
    store.full = undefined;
  });
});

test('while it drains, /readyz says so, /livez lives, and what is under way is answered', async () => {
  await using muster = await Muster.start();
  const { apiKey } = await tenant(muster);
  const client = await connectRaw(muster.service.api.port);
  const body = '{"name":"slow"}';
  await client.send(
    `POST /v1/apps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: ${body.length}\r\n\r\n{"na`,
  );
  // Its head has arrived when a later request on another connection has been answered.
  await call(`${muster.api}/v1/apps`, { token: apiKey });
  const { device, ops } = muster.service;
  expect([isListening(device.port), isListening(ops.port)]).toEqual([true, true]);
  const stopped = muster.service.stop();
  expect(await call(`${muster.ops}/readyz`)).toMatchObject({
    status: 503,
    body: { status: 'not ready', reason: 'draining' },
  });
  expect((await call(`${muster.ops}/livez`)).status).toBe(200);
  expect(isListening(device.port)).toBe(false);
  await client.send(body.slice(4));
  const answer = await client.answer();
  expect([answer.status, header(answer, 'connection')]).toEqual([201, 'close']);
  await stopped;
  expect(isListening(ops.port)).toBe(false);
});

describe('below routing', () => {
  let muster: Muster;
  beforeAll(async () => {
    muster = await Muster.start();
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  test.each([
    ['device', 'not HTTP\r\n\r\n', 'no request line'],
    ['ops', 'not HTTP\r\n\r\n', 'no request line'],
    ['device', `GET /device/v1/config HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 'headers too large'],
    [
      'ops',
      'POST /operator/v1/accounts HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      'conflicting lengths',
    ],
  ] as const)(
    'on the %s listener %.20j is 400 invalid_request, then the end (H21: %s)',
    async (listener, bytes, _what) => {
      await using connection = await connectRaw(muster.service[listener].port);
      await connection.send(bytes);
      const answer = await connection.answer();
      expect([answer.status, header(answer, 'content-type'), header(answer, 'connection')]).toEqual([
        400,
        'application/json',
        'close',
      ]);
      expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'invalid_request' } });
      expect(await connection.rest()).toBe('');
    },
  );

  test.each([
    ['device', 'GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n', 404],
    ['device', 'POST /device/v1/enroll HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n{', 400],
    ['device', 'GET /device/v1/config HTTP/1.1\r\nHost: a\r\n\r\n', 401],
    ['ops', 'GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n', 404],
    ['ops', 'GET /operator/v1/accounts HTTP/1.1\r\nHost: a\r\n\r\n', 401],
    ['ops', 'GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n', 404],
  ] as const)(
    'on the %s listener every error has the one shape and the headers of all answers: %j → %i',
    async (listener, bytes, status) => {
      const answer = await exchange(muster.service[listener].port, bytes);
      expect(answer.status).toBe(status);
      const { error, ...others } = JSON.parse(answer.body) as { error: Record<string, unknown> };
      expect(others).toEqual({});
      expect(Object.keys(error)).toEqual(['code', 'message']);
      expect(header(answer, 'cache-control')).toBe('no-store, no-transform');
      expect(header(answer, 'x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
      expect(header(answer, 'x-powered-by')).toBeUndefined();
      expect(header(answer, 'www-authenticate')).toBe(status === 401 ? 'Bearer' : undefined);
    },
  );
});
