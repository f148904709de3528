import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/domain/limits.ts';
import { connectRaw, type RawConnection } from '../support/http/raw-http.ts';
import { metric, sendEnroll } from '../support/service/daemon.ts';
import { call, createApp, enroll, Muster, OPERATOR_TOKEN, poll, tenant } from '../support/service/muster.ts';
import { faultyForRequests, type FaultyStore } from '../support/store/faulty-store.ts';
import { until } from '../support/time/until.ts';

const ONE = { concurrencyMax: 1, connectionsMax: 100 };

/** Resolves when the service waits for the body of the request, which is then in flight. */
async function waitForBody(port: number, target: string, token: string, bytes = 2): Promise<RawConnection> {
  const connection = await connectRaw(port);
  const fields = [`Authorization: Bearer ${token}`, `Content-Length: ${bytes}`, 'Expect: 100-continue'];
  await connection.send(`POST ${target} HTTP/1.1\r\nHost: a\r\n${fields.join('\r\n')}\r\n\r\n`);
  expect((await connection.answer()).status).toBe(100);
  return connection;
}

/**
 * Resolves when a commit waits that creates an account or changes one. The loops of the service commit others, and the
 * heartbeats of an account.
 */
async function commitOfAnAccount(store: FaultyStore | undefined): Promise<void> {
  const before = store?.changes.length ?? 0;
  await until(() => /"(?:d\/a\/(?![^"]*\/seen")|audit\/)/.test(JSON.stringify(store?.changes.slice(before))));
}

test.each([
  ['api', '/v1/apps', 502, 'upstream_unavailable'],
  ['ops', '/operator/v1/accounts', 503, 'overloaded'],
] as const)(
  'beyond its requests in flight the %s listener rejects with %s %d %s; what is under way goes on',
  async (name, target, status, code) => {
    let store: FaultyStore | undefined;
    await using muster = await Muster.start({
      bounds: { [name]: ONE },
      wrapStore: (opened) => (store = faultyForRequests(opened)),
    });
    const { apiKey } = await tenant(muster);
    const token = name === 'ops' ? OPERATOR_TOKEN : apiKey;
    const send = () =>
      call(`${muster[name]}${target}`, { method: 'POST', token, body: { name: 'a', entitlement: 'standard' } });
    const goOn = store?.stall('commit');
    const first = send();
    await commitOfAnAccount(store);
    const rejected = await send();
    expect(rejected).toMatchObject({ status, body: { error: { code } } });
    expect(rejected.headers.get('retry-after')).toMatch(/^[1-5]$/);
    for (const probe of ['livez', 'readyz', 'metrics']) expect((await call(`${muster.ops}/${probe}`)).status).toBe(200);
    expect(await metric(muster, `muster_http_requests_in_flight{listener="${name}"}`)).toBe(name === 'ops' ? 2 : 1);
    goOn?.();
    expect((await first).status).toBe(201);
    const counted = `muster_http_rejected_total{listener="${name}",why="request_bound"}`;
    expect(await metric(muster, counted)).toBe(1);
  },
);

describe('a request whose body is on its way', () => {
  const ALL_ONE = { api: ONE, device: ONE, ops: ONE };
  const ACCOUNT = JSON.stringify({ name: 'a', entitlement: 'standard' });
  const ACK = JSON.stringify({ revision: 0, status: 'applied' });
  let store: FaultyStore | undefined;
  let muster: Muster;
  let apiKey: string;
  let credential: string;
  beforeAll(async () => {
    muster = await Muster.start({ bounds: ALL_ONE, wrapStore: (opened) => (store = faultyForRequests(opened)) });
    ({ apiKey } = await tenant(muster));
    credential = await enroll(muster, await createApp(muster, apiKey));
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  test.each([
    ['api', '/v1/apps', '{}', 201],
    ['device', '/device/v1/config/ack', ACK, 204],
    ['device', '/device/v1/detections', '{"events":[]}', 202],
    ['ops', '/operator/v1/accounts', ACCOUNT, 201],
  ] as const)('takes no slot of the %s listener: POST %s', async (name, target, body, status) => {
    const token = { api: apiKey, device: credential, ops: OPERATOR_TOKEN }[name];
    const { port } = muster.service[name];
    await using first = await waitForBody(port, target, token, body.length);
    await using second = await waitForBody(port, target, token, body.length);
    const rejected = `muster_http_rejected_total{listener="${name}",why="request_bound"}`;
    const before = await metric(muster, rejected);
    const complete = { method: 'POST', token, body: JSON.parse(body) as object };
    expect((await call(`${muster[name]}${target}`, complete)).status).toBe(status);
    for (const connection of [first, second]) {
      await connection.send(body);
      expect((await connection.answer()).status).toBe(status);
    }
    expect(await metric(muster, rejected)).toBe(before);
  });

  test.each([
    ['api', '/v1/apps', '{}', 502, 'upstream_unavailable'],
    ['device', '/device/v1/config/ack', ACK, 503, 'overloaded'],
    ['ops', '/operator/v1/accounts', ACCOUNT, 503, 'overloaded'],
  ] as const)(
    'is rejected where no slot of the %s listener is free once it is there: POST %s',
    async (name, target, body, status, code) => {
      const token = { api: apiKey, device: await enroll(muster, await createApp(muster, apiKey)), ops: OPERATOR_TOKEN }[
        name
      ];
      await using waiting = await waitForBody(muster.service[name].port, target, token, body.length);
      const rejected = `muster_http_rejected_total{listener="${name}",why="request_bound"}`;
      const rejectedBefore = await metric(muster, rejected);
      const goOn = store?.stall('commit');
      const first = call(`${muster[name]}${target}`, { method: 'POST', token, body: JSON.parse(body) as object });
      await commitOfAnAccount(store);
      await waiting.send(body);
      const answer = await waiting.answer();
      expect(answer).toMatchObject({ status, body: expect.stringContaining(code) as string });
      expect(answer.headers.get('retry-after')?.[0]).toMatch(/^[1-5]$/);
      // It counts by its own answer.
      expect(await metric(muster, rejected)).toBe(rejectedBefore);
      goOn?.();
      expect((await first).status).toBeLessThan(300);
    },
  );
});

test('an account whose bodies on their way may grow too large gives up its first, and no other account does', async () => {
  await using muster = await Muster.start({ env: { MUSTER_DEVICE_RATE_PER_MINUTE: '100000' } });
  const { port } = muster.service.device;
  const daemon = async (): Promise<string> => enroll(muster, await createApp(muster, (await tenant(muster)).apiKey));
  const wait = (token: string) => waitForBody(port, '/device/v1/config/ack', token, LIMITS.requestBodyBytesMax);
  await using others = await wait(await daemon());
  await using all = new AsyncDisposableStack();
  const token = await daemon();
  const first = all.use(await wait(token));
  // With the other account's there is room for one less.
  for (let more = 2; more < LIMITS.bodyBytesAwaitedMax / LIMITS.requestBodyBytesMax; more += 1)
    all.use(await wait(token));
  const last = all.use(await wait(token));
  expect((await first.answer()).status).toBe(503);
  for (const connection of [others, last]) {
    await connection.send(' '.repeat(LIMITS.requestBodyBytesMax));
    expect((await connection.answer()).status, 'read to its end').toBe(400);
  }
});

test('an enrollment that is given up for others is answered as one that stalls: it is no error of the service', async () => {
  await using muster = await Muster.start();
  const { port } = muster.service.device;
  await using all = new AsyncDisposableStack();
  const wait = () => waitForBody(port, '/device/v1/enroll', 'none', LIMITS.requestBodyBytesMax);
  const first = all.use(await wait());
  for (let more = 0; more < LIMITS.bodyBytesAwaitedMax / LIMITS.requestBodyBytesMax; more += 1) all.use(await wait());
  expect(await first.answer()).toMatchObject({
    status: 400,
    body: expect.stringContaining('did not come in time') as string,
  });
});

test('enrollments whose bodies are on their way take no slot', async () => {
  await using muster = await Muster.start({ bounds: { device: ONE } });
  const { port } = muster.service.device;
  const { apiKey } = await tenant(muster);
  const credential = await enroll(muster, await createApp(muster, apiKey));
  await using first = await waitForBody(port, '/device/v1/enroll', 'none');
  await using second = await waitForBody(port, '/device/v1/enroll', 'none');
  expect((await poll(muster, credential)).status).toBe(200);
  await enroll(muster, await createApp(muster, apiKey));
  for (const connection of [first, second]) {
    await connection.send('{}');
    expect((await connection.answer()).status).toBe(400);
  }
});

test('beyond its enrollments under way the device listener rejects further ones with 503 overloaded, and serves polls', async () => {
  let store: FaultyStore | undefined;
  await using muster = await Muster.start({
    bounds: { device: ONE },
    wrapStore: (opened) => (store = faultyForRequests(opened)),
  });
  const { apiKey } = await tenant(muster);
  const credential = await enroll(muster, await createApp(muster, apiKey));
  const [first, second] = [await createApp(muster, apiKey), await createApp(muster, apiKey)];
  const goOn = store?.stall('commit');
  const waiting = enroll(muster, first);
  await commitOfAnAccount(store);
  const rejected = await sendEnroll(muster, second);
  expect(rejected).toMatchObject({ status: 503, body: { error: { code: 'overloaded' } } });
  expect((await poll(muster, credential)).status).toBe(200);
  goOn?.();
  await waiting;
  await enroll(muster, second);
});

test('a listener whose connections all serve a request closes the next one at once', async () => {
  await using muster = await Muster.start({ bounds: { api: { concurrencyMax: 100, connectionsMax: 1 } } });
  const { apiKey } = await tenant(muster);
  await using first = await waitForBody(muster.service.api.port, '/v1/apps', apiKey);
  await expect(call(`${muster.api}/v1/apps`, { token: apiKey })).rejects.toThrow();
  await first.send('{}');
  expect((await first.answer()).status).toBe(201);
  expect(await metric(muster, 'muster_http_rejected_total{listener="api",why="connection_bound"}')).toBe(1);
});
