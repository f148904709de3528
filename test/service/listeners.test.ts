import { expect, test } from 'vitest';
import { AwaitedBodies } from '../../src/api/http/awaited-bodies.ts';
import { connectRaw, type RawConnection } from '../support/http/raw-http.ts';
import { metric, sendEnroll } from '../support/service/daemon.ts';
import { call, createApp, enroll, Muster, OPERATOR_TOKEN, poll, tenant } from '../support/service/muster.ts';
import { faultyStore, type FaultyStore } from '../support/store/faulty-store.ts';
import { until } from '../support/time/until.ts';

const ONE = { concurrencyMax: 1, connectionsMax: 100 };

/** Resolves when the service waits for the body of the request, which is then in flight. */
async function occupy(port: number, target: string, apiKey: string): Promise<RawConnection> {
  const connection = await connectRaw(port);
  const fields = [`Authorization: Bearer ${apiKey}`, 'Content-Length: 2', 'Expect: 100-continue'];
  await connection.send(`POST ${target} HTTP/1.1\r\nHost: a\r\n${fields.join('\r\n')}\r\n\r\n`);
  expect((await connection.answer()).status).toBe(100);
  return connection;
}

test.each([
  ['api', '/v1/apps', 502, 'upstream_unavailable', 201],
  ['ops', '/operator/v1/accounts', 503, 'overloaded', 400],
] as const)(
  'beyond its requests in flight the %s listener rejects with %s %d %s; what is under way goes on',
  async (name, target, status, code, answered) => {
    await using muster = await Muster.start({ bounds: { [name]: ONE } });
    const token = name === 'ops' ? OPERATOR_TOKEN : (await tenant(muster)).apiKey;
    await using first = await occupy(muster.service[name].port, target, token);
    const rejected = await call(`${muster[name]}${target}`, { method: 'POST', token, body: {} });
    expect(rejected).toMatchObject({ status, body: { error: { code } } });
    expect(rejected.headers.get('retry-after')).toMatch(/^[1-5]$/);
    for (const probe of ['livez', 'readyz', 'metrics']) expect((await call(`${muster.ops}/${probe}`)).status).toBe(200);
    expect(await metric(muster, `muster_http_requests_in_flight{listener="${name}"}`)).toBe(name === 'ops' ? 2 : 1);
    await first.send('{}');
    expect((await first.answer()).status).toBe(answered);
    const counted = `muster_http_rejected_total{listener="${name}",why="request_bound"}`;
    expect(await metric(muster, counted)).toBe(1);
  },
);

test('enrollments whose bodies are on their way take no slot; at most so many are waited for', async () => {
  await using muster = await Muster.start({ bounds: { device: ONE } });
  const { port } = muster.service.device;
  const { apiKey } = await tenant(muster);
  const credential = await enroll(muster, await createApp(muster, apiKey));
  await using first = await occupy(port, '/device/v1/enroll', 'none');
  await using second = await occupy(port, '/device/v1/enroll', 'none');
  expect((await poll(muster, credential)).status).toBe(200);
  await enroll(muster, await createApp(muster, apiKey));
  for (const connection of [first, second]) {
    await connection.send('{}');
    expect((await connection.answer()).status).toBe(400);
  }
});

test('of too many enrollments whose bodies are on their way the one gives up that has waited longest', async () => {
  const awaited = new AwaitedBodies(2);
  const given: number[] = [];
  // As of a request: it is no longer waited for once it was given up.
  const wait = (number: number): (() => void) => {
    const arrived = awaited.await(() => {
      given.push(number);
      arrived();
    });
    return arrived;
  };
  const [_first, second] = [wait(1), wait(2)];
  second();
  const third = wait(3);
  expect(given, 'one has arrived').toEqual([]);
  wait(4);
  expect(given).toEqual([1]);
  third();
  wait(5);
  expect(given).toEqual([1]);
});

test('beyond its enrollments under way the device listener rejects further ones with 503 overloaded, and serves polls', async () => {
  let store: FaultyStore | undefined;
  await using muster = await Muster.start({
    bounds: { device: ONE },
    wrapStore: (opened) => (store = faultyStore(opened)),
  });
  const { apiKey } = await tenant(muster);
  const credential = await enroll(muster, await createApp(muster, apiKey));
  const [first, second] = [await createApp(muster, apiKey), await createApp(muster, apiKey)];
  const before = store?.calls.commit ?? 0;
  const goOn = store?.stall('commit');
  const waiting = enroll(muster, first);
  await until(() => (store?.calls.commit ?? 0) > before);
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
  await using first = await occupy(muster.service.api.port, '/v1/apps', apiKey);
  await expect(call(`${muster.api}/v1/apps`, { token: apiKey })).rejects.toThrow();
  await first.send('{}');
  expect((await first.answer()).status).toBe(201);
  expect(await metric(muster, 'muster_http_rejected_total{listener="api",why="connection_bound"}')).toBe(1);
});
