import { expect, test } from 'vitest';
import { connectRaw, type RawConnection } from '../support/http/raw-http.ts';
import { metric } from '../support/service/daemon.ts';
import { call, Muster, OPERATOR_TOKEN, tenant } from '../support/service/muster.ts';

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
  ['device', '/device/v1/enroll', 503, 'overloaded', 400],
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

test('beyond its connections a listener closes the next one at once', async () => {
  await using muster = await Muster.start({ bounds: { api: { concurrencyMax: 100, connectionsMax: 1 } } });
  const { apiKey } = await tenant(muster);
  await using first = await occupy(muster.service.api.port, '/v1/apps', apiKey);
  await expect(call(`${muster.api}/v1/apps`, { token: apiKey })).rejects.toThrow();
  await first.send('{}');
  expect((await first.answer()).status).toBe(201);
  expect(await metric(muster, 'muster_http_rejected_total{listener="api",why="connection_bound"}')).toBe(1);
});
