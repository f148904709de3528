import { afterAll, beforeAll, expect, test } from 'vitest';
import { exchange } from '../../support/http/raw-http.ts';
import { cataloguedSeries } from '../../support/monitoring/metrics-catalogue.ts';
import { metric, setOtel } from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Muster,
  type Tenant,
} from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/** A dashboard and the alerts rely on these names. */
const CATALOGUE = cataloguedSeries()
  .map(({ name }) => name)
  .filter((name) => name.startsWith('muster_'))
  .toSorted();

onEachBackend('/metrics', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let owner: Tenant;
  let text: string;
  const told: string[] = [];
  beforeAll(async () => {
    muster = await backend.fresh({ clock });
    owner = await tenant(muster);
    const app = await createApp(muster, owner.apiKey, 'named-by-its-owner');
    const credential = await enroll(muster, app);
    await poll(muster, credential);
    await setOtel(muster, owner.apiKey, { authHeader: 'Bearer collector-secret' });
    const paths = [
      `/v1/apps/${app.appId}`,
      '/v1/apps',
      `/v1/nothing/${app.appId}`,
      `/v1/apps/${'z'.repeat(20)}`,
      '/v1/otel-config',
    ];
    for (const path of paths) await call(muster.api + path, { token: owner.apiKey });
    await call(`${muster.api}/v1/apps`);
    await call(`${muster.ops}/operator/v1/accounts/${owner.accountId}`, { token: OPERATOR_TOKEN });
    await exchange(muster.service.api.port, 'not HTTP\r\n\r\n');
    // The leader shows its numbers once it has counted.
    await until(async () => (await call(`${muster.ops}/metrics`)).text.includes('\nmuster_rate_limited_accounts 0\n'));
    const answer = await call(`${muster.ops}/metrics`);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    ({ text } = answer);
    told.push(
      owner.accountId,
      owner.keyId,
      owner.apiKey,
      app.appId,
      app.enrollCode,
      credential,
      OPERATOR_TOKEN,
      'collector-secret',
      'named-by-its-owner',
    );
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  test('has the whole catalogue, each with help and type, and Node’s own', () => {
    const typed = [...text.matchAll(/^# TYPE (\S+) (?:counter|gauge|histogram)$/gm)].map(([, name = '']) => name);
    expect(typed.filter((name) => name.startsWith('muster_')).toSorted()).toEqual(CATALOGUE);
    expect(typed).toContain('nodejs_eventloop_lag_seconds');
    for (const name of CATALOGUE) expect(text).toMatch(new RegExp(`^# HELP ${name} \\S.*\\.$`, 'm'));
  });

  test.each([
    'muster_accounts 1',
    'muster_apps 1',
    'muster_watch_cache_ready 1',
    'muster_held_polls 0',
    'muster_enrollments_total{result="enrolled"} 1',
    'muster_polls_total{result="content"} 1',
    'muster_rate_decisions_total{decision="admitted"} 7',
    'muster_rate_limited_accounts 0',
    'muster_rate_decision_duration_seconds_count{result="admitted"} 7',
    'muster_mutations_total{action="app.created"} 1',
    'muster_http_rejected_total{listener="api",why="below_routing"} 1',
    'muster_http_request_duration_seconds_count{listener="api",method="GET",route="/v1/apps/:appId",status="200",code=""} 1',
    'muster_http_request_duration_seconds_count{listener="api",method="GET",route="/v1/apps/:appId",status="404",code="not_found"} 1',
    'muster_http_request_duration_seconds_count{listener="api",method="GET",route="/v1/apps",status="401",code="invalid_key"} 1',
    'muster_http_request_duration_seconds_count{listener="device",method="POST",route="/device/v1/enroll",status="200",code=""} 1',
    'muster_http_request_duration_seconds_count{listener="ops",method="GET",route="/operator/v1/accounts/:accountId",status="200",code=""} 1',
  ])('%s', (line) => {
    expect(text.split('\n')).toContain(line);
  });

  test.each(['/livez', '/readyz'])('the probe %s is counted under its own route', async (path) => {
    const series = `muster_http_request_duration_seconds_count{listener="ops",method="GET",route="${path}",status="200",code=""}`;
    const before = await metric(muster, series);
    await call(muster.ops + path);
    expect(await metric(muster, series)).toBe(before + 1);
  });

  test('no account, app, key or secret is in it', () => {
    for (const id of told) expect(text).not.toContain(id);
  });

  test('labels are of closed sets: more traffic of the same kinds adds no series', async () => {
    const series = async (): Promise<string[]> => {
      const lines = (await call(`${muster.ops}/metrics`)).text.split('\n').filter((line) => line.startsWith('muster_'));
      return lines.map((line) => line.slice(0, line.lastIndexOf(' ')));
    };
    await call(`${muster.api}/v1/unknown/1`, { token: owner.apiKey });
    await call(`${muster.device}/unknown/1`);
    // The leader's first round over the fleet: only then are its totals exposed.
    await until(async () => {
      clock.advance(1000);
      return (await series()).includes('muster_rollout_devices{state="stale"}');
    });
    const before = await series();
    for (let i = 0; i < 5; i += 1) {
      const other = await tenant(muster);
      const app = await createApp(muster, other.apiKey, `name ${i}`);
      await poll(muster, await enroll(muster, app), { 'x-request-id': `id-${i}` });
      await call(`${muster.api}/v1/apps/${app.appId}?page=${i}`, { token: other.apiKey });
      await call(`${muster.api}/v1/unknown/${i}`, { token: other.apiKey });
      await call(`${muster.device}/unknown/${i}`);
      await call(`${muster.ops}/operator/v1/accounts/${other.accountId}?${i}`, { token: OPERATOR_TOKEN });
    }
    const fresh = (await series()).filter((line) => !before.includes(line));
    // The first outcome of the store, and of a loop of the controller, is a member of its set, too.
    expect(fresh.filter((line) => !/^muster_(?:store|loop)_/.test(line))).toEqual([]);
  });
});
