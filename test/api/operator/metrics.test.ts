import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EXIT } from '../../../src/cli/terminal/exit-codes.ts';
import { OPERATOR_ROLES } from '../../../src/config/operator-tokens.ts';
import { exchange } from '../../support/http/raw-http.ts';
import { cataloguedSeries } from '../../support/monitoring/metrics-catalogue.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { metric, setOtel } from '../../support/service/daemon.ts';
import { musterHere } from '../../support/service/muster-command.ts';
import {
  call,
  createApp,
  enroll,
  Muster,
  OPERATOR_TOKEN,
  poll,
  tenant,
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

test('with MUSTER_METRICS_AUTH=token the scrape takes a token whose role reads it, and the probes none', async () => {
  const dir = scratchDirectory('scrape');
  const file = join(dir, 'tokens');
  const tokens = Object.fromEntries(OPERATOR_ROLES.map((role) => [role, `${role}-${'0'.repeat(32)}`]));
  const lines = Object.entries(tokens).map(([role, token]) => `ann-${role}:${role}:${token}\n`);
  writeFileSync(file, lines.join(''), { mode: 0o600 });
  await using muster = await Muster.start({ env: { MUSTER_METRICS_AUTH: 'token', MUSTER_OPERATOR_TOKEN_FILE: file } });
  const scrape = (token?: string, method = 'GET') => call(`${muster.ops}/metrics`, { method, token });
  for (const method of ['GET', 'HEAD']) {
    const statuses: Record<string, number> = {};
    for (const [role, token] of Object.entries(tokens)) statuses[role] = (await scrape(token, method)).status;
    expect(statuses).toEqual({ operator: 200, support: 200, billing: 403, auditor: 200, metrics: 200 });
    for (const wrong of [undefined, '', 'x'.repeat(40)]) expect((await scrape(wrong, method)).status).toBe(401);
  }
  const [refused, unknown] = [await scrape(tokens['billing']), await scrape()];
  expect(refused.text).toContain('Use a token with the role support, auditor, metrics or operator.');
  expect(unknown.headers.get('www-authenticate')).toBe('Bearer');
  expect(unknown.text + refused.text).not.toContain('muster_');
  for (const path of ['/livez', '/readyz']) expect((await call(muster.ops + path)).status).toBe(200);
  // A token that is withdrawn does not open the scrape to everybody.
  expect((await scrape(tokens['metrics'])).text).toContain(
    'muster_authentication_failures_total{credential="operator_token",reason="wrong_secret"}',
  );
  for (const [token, code] of [
    [undefined, EXIT.notAuthorised],
    [tokens['billing'], EXIT.notAuthorised],
    [tokens['metrics'], EXIT.ok],
  ] as const) {
    const env = {
      MUSTER_CLIENT_OPS_URL: muster.ops,
      ...(token !== undefined && { MUSTER_CLIENT_OPERATOR_TOKEN: token }),
    };
    const { code: ended, stdout, stderr } = await musterHere(['version', '--running'], env);
    expect([ended, stdout.includes(muster.ops)]).toEqual([code, code === EXIT.ok]);
    if (code !== EXIT.ok) expect(stderr).toContain('/metrics takes an operator token of a role that reads it');
    expect((await musterHere(['status'], env)).code).toBe(EXIT.ok);
  }
  rmSync(dir, { recursive: true });
});
