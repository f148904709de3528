import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { exchange } from '../../support/http/raw-http.ts';
import { metric } from '../../support/service/daemon.ts';
import { call, createApp, OPERATOR_TOKEN, tenant, type Muster } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* Which operation is refused, and which is limited, is told by metrics and log, whoever asks and whatever stops it. */

interface Labels {
  readonly listener: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly code: string;
}

const counted = (muster: Muster, { listener, method, route, status, code }: Labels): Promise<number> =>
  metric(
    muster,
    `muster_http_request_duration_seconds_count{listener="${listener}",method="${method}",route="${route}",status="${status}",code="${code}"}`,
  );

const APP = '/v1/apps/a0b1c2d3e4f5g6h7i8j9';

onEachBackend('the labels of a request', (backend) => {
  let shared: Muster;
  beforeAll(async () => {
    shared = await backend.fresh();
  });
  afterAll(() => shared[Symbol.asyncDispose]());

  test.each([
    ['GET', '/v1/apps', '/v1/apps'],
    ['GET', '/v1/apps?limit=1', '/v1/apps'],
    ['PATCH', '/v1/apps', '/v1/apps'],
    ['PROPFIND', '/v1/apps', '/v1/apps', 'other'],
    ['POST', `${APP}/revoke`, '/v1/apps/:appId/revoke'],
    ['GET', '/v1/apps/NO-ID', '/v1/apps/:appId'],
    ['GET', '/v1/apps/%zz', '/v1/apps/:appId'],
    ['GET', '/v1/apps/:appId', '/v1/apps/:appId'],
    ['PUT', '/v1/otel-config', '/v1/otel-config'],
    ['GET', '/v1/apps/', '(none)'],
    ['GET', '/v1/Apps', '(none)'],
    ['GET', `${APP}/`, '(none)'],
    ['GET', `${APP}/revoke/more`, '(none)'],
    ['GET', '/v1/v1/apps', '(none)'],
  ])('%s %s without a key has the route %s', async (method, path, route, label = method) => {
    const labels = { listener: 'api', method: label, route, status: 401, code: 'invalid_key' };
    const before = await counted(shared, labels);
    const wire = `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    expect((await exchange(shared.service.api.port, wire)).status).toBe(401);
    expect(await counted(shared, labels)).toBe(before + 1);
  });

  test('HEAD is a method of its own', async () => {
    expect((await call(`${shared.api}/v1/apps`, { method: 'HEAD' })).status).toBe(401);
    const labels = { listener: 'api', method: 'HEAD', route: '/v1/apps', status: 401, code: 'invalid_key' };
    expect(await counted(shared, labels)).toBe(1);
  });

  test('the other listeners name the route of what they do not authenticate, too', async () => {
    await using muster = await backend.fresh();
    const [device, ops] = [`${muster.device}/device/v1/config`, `${muster.ops}/operator/v1/accounts`];
    const id = 'a'.repeat(16);
    for (const url of [device, ops, `${ops}/${id}`, `${ops}/${id}/api-keys`, `${ops}/%zz`]) {
      expect((await call(url)).status).toBe(401);
    }
    const refused = { method: 'GET', status: 401 };
    const ofDevice = { ...refused, listener: 'device', code: 'invalid_credential' };
    const ofOps = { ...refused, listener: 'ops', code: 'invalid_token' };
    expect(await counted(muster, { ...ofDevice, route: '/device/v1/config' })).toBe(1);
    expect(await counted(muster, { ...ofOps, route: '/operator/v1/accounts' })).toBe(1);
    expect(await counted(muster, { ...ofOps, route: '/operator/v1/accounts/:accountId' })).toBe(2);
    expect(await counted(muster, { ...ofOps, route: '/operator/v1/accounts/:accountId/api-keys' })).toBe(1);
  });

  test('a limited request has the route that it asked for, and a known one is limited before it is judged', async () => {
    await using muster = await backend.fresh({ clock: new FakeClock(), env: { MUSTER_RATE_WINDOW: 'local' } });
    const { apiKey } = await tenant(muster);
    const get = (path: string) => call(muster.api + path, { token: apiKey });
    for (let n = 0; n < LIMITS.requestsPerWindowMax; n += 1) await get('/v1/apps');
    const limited = { listener: 'api', method: 'GET', status: 429, code: 'rate_limited' };
    for (const path of ['/v1/apps', APP, '/v1/nothing']) expect((await get(path)).status).toBe(429);
    for (const route of ['/v1/apps', '/v1/apps/:appId', '(none)']) {
      expect(await counted(muster, { ...limited, route })).toBe(1);
    }
  });

  test('an outage while the caller is authenticated has the route', async () => {
    let faulty: FaultyStore | undefined;
    await using muster = await backend.fresh({ wrapStore: (store) => (faulty = faultyStore(store)) });
    const { apiKey } = await tenant(muster);
    const app = await createApp(muster, apiKey);
    faulty?.outage(true);
    expect((await call(`${muster.api}/v1/apps/${app.appId}/revoke`, { method: 'POST', token: apiKey })).status).toBe(
      502,
    );
    const [route, code] = ['/v1/apps/:appId/revoke', 'upstream_unavailable'];
    expect(await counted(muster, { listener: 'api', method: 'POST', route, status: 502, code })).toBe(1);
  });
});

const TRACE = '0af7651916cd43dd8448eb211c80319c';

onEachBackend('the trace of a request', (backend) => {
  test('is on its lines of the log: those of a change and those of a refusal', async () => {
    await using muster = await backend.fresh();
    const { apiKey } = await tenant(muster);
    const headers = { traceparent: `00-${TRACE}-b7ad6b7169203331-01`, 'x-request-id': 'traced' };
    await call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey, headers });
    await call(`${muster.api}/v1/apps`, { token: 'wrong', headers });
    await call(`${muster.ops}/operator/v1/accounts`, { token: `${OPERATOR_TOKEN}x`, headers });
    const lines = muster.logged.map(
      (line) => JSON.parse(line) as { msg: string; requestId?: string; trace_id?: string },
    );
    expect(lines.filter(({ requestId }) => requestId === 'traced')).toMatchObject([
      { msg: 'changed', trace_id: TRACE },
      { msg: 'not authenticated', trace_id: TRACE },
      { msg: 'not authenticated', trace_id: TRACE },
    ]);
    expect(lines.filter(({ requestId }) => requestId !== 'traced').some((line) => 'trace_id' in line)).toBe(false);
  });
});
