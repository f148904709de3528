import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { SECRET_FIELDS } from '../../../../src/api/contract/secret-fields.ts';
import { samplesOf } from '../../../../src/cli/connection/exposition.ts';
import { VERSION } from '../../../../src/version.ts';
import { LossyProxy } from '../../../support/http/lossy-proxy.ts';
import { freePorts } from '../../../support/service/free-ports.ts';
import {
  connectedTo,
  musterHere,
  musterProcess,
  ownedBy,
  type Ended,
} from '../../../support/service/muster-command.ts';
import { createApp, enroll, Muster, tenant, type Tenant } from '../../../support/service/muster.ts';

let muster: Muster;
let root: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'muster-service-'));
  muster = await Muster.start();
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

let owner: Tenant;
let env: Record<string, string>;
beforeEach(async () => {
  owner = await tenant(muster);
  env = { ...connectedTo(muster), ...ownedBy(muster, owner.apiKey), MUSTER_CLIENT_DEVICE_URL: muster.device };
});

const run = (...args: string[]): Promise<Ended> => musterHere(args, env);
const file = (name: string, text: string): string => {
  writeFileSync(join(root, name), text);
  return join(root, name);
};

/** An ops listener that answers each request so. */
async function listener(status: number, body: string): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status).end(body));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('status', () => {
  test('a service that is ready, with the apps of the account', async () => {
    await createApp(muster, owner.apiKey);
    await enroll(muster, await createApp(muster, owner.apiKey));
    const { code, stdout, stderr } = await run('status', '-o', 'json');
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({
      state: 'ready',
      version: VERSION,
      url: muster.api,
      deviceUrl: muster.device,
      opsUrl: muster.ops,
      roles: expect.arrayContaining(['api']) as string[],
      accounts: expect.any(Number) as number,
      storeFullness: expect.any(Number) as number,
      ownApps: { pending: 1, active: 1, revoked: 0 },
    });
    expect((await run('status')).stdout).toMatch(/^STATE +ready\nREASON +-\nVERSION +\d/);
    const { ownApps, ...others } = JSON.parse(
      (await run('status', '-o', 'json', '--url', muster.ops)).stdout,
    ) as Record<string, unknown>;
    expect([ownApps, others['url'], others['state']]).toEqual([undefined, undefined, 'ready']);
  });

  test('without an API key, or with a wrong one, the rest is there', async () => {
    env = { ...connectedTo(muster), MUSTER_DATA_DIR: '/nowhere' };
    expect(await run('status')).toMatchObject({ code: 0, stderr: '' });
    env = { ...env, ...ownedBy({ api: muster.ops }, owner.apiKey) };
    const { code, stdout, stderr } = await run('status');
    expect([code, stdout, stderr]).toEqual([
      0,
      expect.stringMatching(/^OWN ACTIVE +-$/m),
      expect.stringContaining('The apps of the account are not known: '),
    ]);
    expect((await run('status', '--quiet')).stderr).toBe('');
  });

  test('not ready: 3, with the reason; unreachable, or another program: 1; the view is printed in any case', async () => {
    env = {
      MUSTER_CLIENT_OPS_URL: await listener(503, '{"status":"not ready","reason":"the store is \\u001b[31mgone"}'),
    };
    const unready = await run('status', '-o', 'json');
    expect([unready.code, JSON.parse(unready.stdout)]).toMatchObject([3, { state: 'not ready' }]);
    expect(unready.stderr).toMatch(/is not ready: the store is/);
    expect(unready.stderr).not.toContain('\u001b');
    env = { MUSTER_CLIENT_OPS_URL: await listener(200, '<h1>It works</h1>') };
    const other = await run('status', '-o', 'json');
    expect([other.code, JSON.parse(other.stdout)]).toMatchObject([1, { state: 'unreachable' }]);
    expect(other.stderr).toMatch(/not as Muster's ops listener does/);
    const [port = 0] = await freePorts(1);
    env = { MUSTER_CLIENT_OPS_URL: `http://127.0.0.1:${port}` };
    const none = await run('status', '-o', 'json');
    expect([none.code, JSON.parse(none.stdout)]).toMatchObject([1, { state: 'unreachable' }]);
    expect(none.stderr).toMatch(/nothing listens there.*from MUSTER_CLIENT_OPS_URL/);
  });

  test('--request-id is in every request', async () => {
    const ids: unknown[] = [];
    const server = createServer(({ headers }, response) => {
      ids.push(headers['x-request-id']);
      response.end('{"status":"ready"}');
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    env = { MUSTER_CLIENT_OPS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    await run('status', '--request-id', 'night-1');
    expect(ids).toEqual(['night-1', 'night-1']);
  });

  test('degraded is ready, with the reason', async () => {
    env = { MUSTER_CLIENT_OPS_URL: await listener(200, '{"status":"ready","degraded":"the store is slow"}') };
    const { code, stdout } = await run('status', '-o', 'json');
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { state: 'ready', reason: 'the store is slow' }]);
  });

  test('reads an exposition', () => {
    const text = '# HELP a b\n# TYPE a gauge\na 1\nb{x="1",y="a\\"b}"} NaN\nc_d{} 2e3\n\nno sample\n';
    expect(samplesOf(text)).toEqual([
      { name: 'a', labels: new Map(), value: 1 },
      {
        name: 'b',
        labels: new Map([
          ['x', '1'],
          ['y', 'a\\"b}'],
        ]),
        value: Number.NaN,
      },
      { name: 'c_d', labels: new Map(), value: 2000 },
    ]);
  });
});

describe('api', () => {
  test('/v1 with the key: fields are the body, or the query of GET', async () => {
    const created = await run('api', 'post', '/v1/apps', '-f', 'name=edge = 1', '--idempotency-key', 'k1');
    expect([created.code, created.stderr]).toEqual([0, '']);
    const app = JSON.parse(created.stdout) as { appId: string };
    expect(app).toMatchObject({ name: 'edge = 1', enrollCode: expect.stringMatching(/^mst_code_/) as string });
    const again = await run('api', 'POST', '/v1/apps', '-f', 'name=edge = 1', '--idempotency-key', 'k1');
    expect(again.stdout).toBe(created.stdout);
    expect(JSON.parse((await run('api', 'GET', '/v1/apps')).stdout)).toMatchObject({ apps: [{ appId: app.appId }] });
    expect(await run('api', 'DELETE', `/v1/apps/${app.appId}`)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await run('api', 'GET', `/v1/apps/${app.appId}`)).toMatchObject({ code: 4, stdout: '' });
  });

  test('/operator/v1 with the token; values are typed, and --raw-field is text', async () => {
    const month = new Date().toISOString().slice(0, 7);
    const usage = await run('api', 'GET', '/operator/v1/usage', '-f', `month=${month}`, '-f', 'limit=1');
    expect(JSON.parse(usage.stdout)).toMatchObject({ month });
    const accounts = await run('api', 'GET', '/operator/v1/accounts?limit=1');
    expect((JSON.parse(accounts.stdout) as { accounts: unknown[] }).accounts).toHaveLength(1);
    const change = ['api', 'PATCH', `/operator/v1/accounts/${owner.accountId}`];
    const changed = await run(...change, '-f', 'disabled=true', '--raw-field', 'name=true');
    expect(JSON.parse(changed.stdout)).toMatchObject({ disabled: true, name: 'true' });
    expect((await run(...change, '-f', 'name=true')).code).toBe(1);
    expect(JSON.parse((await run(...change, '-f', 'name=007', '-f', 'disabled=false')).stdout)).toMatchObject({
      name: '007',
    });
    expect((await run(...change, '-f', 'name=7')).code).toBe(1);
    const long = await run(...change, '-f', 'name=12345678901234567890');
    expect(JSON.parse(long.stdout)).toMatchObject({ name: '12345678901234567890' });
  });

  test('a secret from a file, a body from a file or from stdin', async () => {
    const header = file('header', 'Bearer hunter2\n');
    const put = ['api', 'PUT', '/v1/otel-config', '-f', 'enabled=true', '-f', 'endpoint=https://otel.example.com'];
    const stored = await run(...put, '--field', `authHeader=@${header}`);
    expect(JSON.parse(stored.stdout)).toMatchObject({ enabled: true, authHeaderSet: true });
    expect(stored.stdout + stored.stderr).not.toContain('hunter2');
    const body = file('body', '{"enabled":false,"authHeader":"Bearer hunter2"}');
    expect((await run('api', 'PUT', '/v1/otel-config', '--input', body)).code).toBe(0);
    const { ended } = musterProcess(['api', 'POST', '/v1/apps', '--input', '-'], env, { stdin: '{"name":"piped"}' });
    expect(JSON.parse((await ended).stdout)).toMatchObject({ name: 'piped' });
    const empty = await run(...put, '-f', 'authHeader=');
    expect(JSON.parse(empty.stdout)).toMatchObject({ authHeaderSet: false });
  });

  test.each([
    [['api', 'GET', '/device/v1/config'], /begins with \/v1 or \/operator\/v1/],
    [['api', 'GET', 'v1/apps'], /begins with \/v1/],
    [['api', 'GET', '/v10/apps'], /begins with \/v1/],
    [['api', 'GET', 'https://elsewhere.example/v1'], /begins with \/v1/],
    [['api', 'GET', '/operator/v1/backup?count=true'], /`muster backup create`/],
    [['api', 'PUT', '/v1/otel-config', '-f', 'authHeader=hunter2'], /authHeader is a secret.*authHeader=@FILE/],
    [['api', 'PUT', '/v1/otel-config', '--raw-field', 'authHeader=hunter2'], /authHeader is a secret/],
    [['api', 'POST', '/v1/apps', '-f', 'hunter2'], /A field is name=value/],
    [['api', 'POST', '/v1/apps', '-f', '=hunter2'], /A field is name=value/],
    [['api', 'POST', '/v1/apps', '-f', 'name=a', '--raw-field', 'name=b'], /name is given twice/],
    [['api', 'POST', '/v1/apps', '-f', 'name=@/nowhere/name'], /\/nowhere\/name: no such file/],
    [['api', 'POST', '/v1/apps', '--input', '/dev/null'], /must be a JSON object/],
    [['api', 'POST', '/v1/apps', '--input', '/dev/null', '-f', 'a=b'], /not by both/],
    [['api', 'GET', '/v1/apps', '--input', '/dev/null'], /GET takes no body/],
    [['api', 'G T', '/v1/apps'], /The method is none/],
  ])('muster %j is refused with 2, and nothing is sent', async (args, words) => {
    await using proxy = await LossyProxy.before(muster.api);
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    const { code, stdout, stderr } = await run(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
    expect(stderr).not.toContain('hunter2');
    expect(proxy.seen).toEqual([]);
  });

  test('knows each secret field of the requests in the documents', () => {
    interface Schema {
      readonly properties?: Record<string, { readonly description?: string }>;
    }
    for (const api of ['v1', 'operator', 'device']) {
      const path = resolve(import.meta.dirname, `../../../../docs/openapi/${api}.json`);
      const { components } = JSON.parse(readFileSync(path, 'utf8')) as {
        components: { schemas: Record<string, Schema> };
      };
      for (const [name, { properties = {} }] of Object.entries(components.schemas)) {
        if (!name.endsWith('Request')) continue;
        const secret = Object.entries(properties).filter(([, { description = '' }]) =>
          /\ba secret\b/i.test(description),
        );
        expect(secret.map(([field]) => field).filter((field) => !SECRET_FIELDS.has(field))).toEqual([]);
        if (name === 'StoreOtelConfigRequest') expect(secret.map(([field]) => field)).toEqual(['authHeader']);
      }
    }
  });
});

test.each(['v1', 'device', 'operator'])('openapi prints the document of %s, as it is committed', async (api) => {
  const { code, stdout } = await musterHere(['openapi', api], {});
  const committed = readFileSync(resolve(import.meta.dirname, `../../../../docs/openapi/${api}.json`), 'utf8');
  expect([code, JSON.parse(stdout)]).toEqual([0, JSON.parse(committed)]);
});

test('openapi: v1 without an argument, and no other', async () => {
  expect(JSON.parse((await musterHere(['openapi'], {})).stdout)).toMatchObject({ info: { title: 'Muster API' } });
  expect((await musterHere(['openapi', 'v2'], {})).code).toBe(2);
});
