import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LISTENER_NAMES, type ListenerName } from '../../../src/config/listeners.ts';
import { OwnerClient } from '#client';
import { selfSigned } from '../../support/http/certificates.ts';
import { connectRaw, exchange, header } from '../../support/http/raw-http.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { connectedTo, musterHere, ownedBy } from '../../support/service/muster-command.ts';
import { metric } from '../../support/service/daemon.ts';
import { Muster, tenant, type Tenant } from '../../support/service/muster.ts';

/* Clients with the address of another listener, or with the other scheme. */

/** The first bytes of a client that was told `https://`. */
const HELLO = Buffer.from('16030102000100', 'hex');

/** A service whose listeners all speak TLS, or none of them. */
async function start(tls: boolean, dir: string): Promise<Muster> {
  const variables = LISTENER_NAMES.flatMap((name) =>
    ['CERT', 'KEY'].map((part) => [name.toUpperCase(), part] as const),
  );
  const env = variables.map(([name, part]) => [`MUSTER_${name}_TLS_${part}_FILE`, join(dir, part)]);
  return await Muster.start(tls ? { env: Object.fromEntries(env) as Record<string, string> } : {});
}

let dir: string;
let plain: Muster;
let encrypted: Muster;
let owner: Tenant;
beforeAll(async () => {
  dir = scratchDirectory('muster');
  const { cert, key } = selfSigned(dir, 'own');
  writeFileSync(join(dir, 'CERT'), cert);
  writeFileSync(join(dir, 'KEY'), key, { mode: 0o600 });
  [plain, encrypted] = [await start(false, dir), await start(true, dir)];
  owner = await tenant(plain);
});
afterAll(async () => {
  await plain[Symbol.asyncDispose]();
  await encrypted[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true });
});

const messageOf = (body: string): string => (JSON.parse(body) as { error: { message: string } }).error.message;

describe('a path of another listener', () => {
  const ask = async (name: ListenerName, path: string): Promise<{ status: number; message: string }> => {
    const { port } = plain.service[name];
    const answer = await exchange(port, `GET ${path} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`);
    expect([header(answer, 'ratelimit'), header(answer, 'www-authenticate')]).toEqual([undefined, undefined]);
    return { status: answer.status, message: messageOf(answer.body) };
  };

  test.each<[ListenerName, string, string]>([
    [
      'api',
      '/operator/v1/accounts',
      'ops listener for /operator/v1; it has a port of its own, which the service has from MUSTER_OPS_LISTEN.',
    ],
    [
      'api',
      '/device/v1/config?x=1',
      'device listener for /device/v1; it has a port of its own, which the service has from MUSTER_DEVICE_LISTEN.',
    ],
    [
      'api',
      '/readyz',
      'ops listener for /readyz; it has a port of its own, which the service has from MUSTER_OPS_LISTEN.',
    ],
    [
      'api',
      '/panel/v1/me',
      "panel's listener for /panel/v1; it has a port of its own, which the service has from MUSTER_PANEL_LISTEN.",
    ],
    [
      'device',
      '/v1/apps',
      'API listener for /v1; it has a port of its own, which the service has from MUSTER_API_LISTEN.',
    ],
    [
      'device',
      '/metrics',
      'ops listener for /metrics; it has a port of its own, which the service has from MUSTER_OPS_LISTEN.',
    ],
    [
      'ops',
      '/v1/apps',
      'API listener for /v1; it has a port of its own, which the service has from MUSTER_API_LISTEN.',
    ],
    [
      'panel',
      '/v1/apps',
      'API listener for /v1; it has a port of its own, which the service has from MUSTER_API_LISTEN.',
    ],
    [
      'ops',
      '/device/v1/enroll',
      'device listener for /device/v1; it has a port of its own, which the service has from MUSTER_DEVICE_LISTEN.',
    ],
  ])('on the %s listener %s is 404, and says where it is', async (name, path, use) => {
    const { status, message } = await ask(name, path);
    expect([status, message]).toEqual([
      404,
      expect.stringMatching(
        /^No such endpoint here: this is the \S+ listener, which speaks \/\S+\. Use the address of the /,
      ),
    ]);
    expect(message.endsWith(use)).toBe(true);
  });

  test.each<[ListenerName, string]>([
    ['api', '/v2'],
    ['api', '/operators'],
    ['device', '/device/v1/none'],
    ['device', '/v11'],
    ['ops', '/livezz'],
    ['ops', '/'],
  ])('on the %s listener %s is nobody’s: 404 as before', async (name, path) => {
    expect(await ask(name, path)).toEqual({
      status: 404,
      message: 'No such endpoint, or no such record in this account.',
    });
  });
});

describe('the other scheme', () => {
  test.each([
    ['api', 404],
    ['device', 400],
    ['ops', 400],
    ['panel', 400],
  ] as const)('on the %s listener HTTP at TLS and TLS at HTTP are %i, and say what it speaks', async (name, status) => {
    const rejected = `muster_http_rejected_total{listener="${name}",why="below_routing"}`;
    const before = await metric(plain, rejected);
    const told = await exchange(encrypted.service[name].port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect([told.status, messageOf(told.body)]).toEqual([status, 'This port speaks HTTPS: use https://.']);
    const other = await exchange(plain.service[name].port, HELLO);
    expect([other.status, messageOf(other.body)]).toEqual([status, 'This port speaks HTTP: use http://.']);
    expect(await metric(plain, rejected)).toBe(before + 1);
  });

  test('what is neither is refused as before, and the connection closes', async () => {
    await using connection = await connectRaw(plain.service.device.port);
    await connection.send('neither\r\n\r\n');
    const { status, body } = await connection.answer();
    expect([status, messageOf(body), await connection.rest()]).toEqual([400, 'The request is not valid.', '']);
    // TLS with a message that is none: nobody takes it for HTTP.
    await using broken = await connectRaw(encrypted.service.device.port);
    await broken.send(Buffer.from('15030100020228', 'hex'));
    expect(await broken.rest()).not.toContain('HTTP/1.1');
  });
});

describe('muster says it at once', () => {
  const owned = (url: string): Record<string, string> => ownedBy({ api: url }, owner.apiKey);
  const https = (url: string): string => url.replace('http:', 'https:');

  test.each<[string, readonly string[], () => Record<string, string>]>([
    ['the API', ['apps', 'list'], () => owned(https(plain.api))],
    ['the API, by a command that is patient', ['apps', 'watch'], () => owned(https(plain.api))],
    ['the ops listener', ['accounts', 'list'], () => connectedTo({ ops: https(plain.ops) })],
  ])('https:// at the HTTP port of %s', async (_what, args, env) => {
    const { code, stderr } = await musterHere(args, env());
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('it does not speak TLS there: use http:// in place of'),
    ]);
    expect(stderr).not.toMatch(/attempt|Trying again/);
  });

  test('the client for TypeScript says so as well, and sends nothing again', async () => {
    const retried: unknown[] = [];
    const client = new OwnerClient({
      url: https(plain.api),
      apiKey: owner.apiKey,
      onRetry: (event) => retried.push(event),
    });
    await expect(client.listApps()).rejects.toMatchObject({
      code: 'bad_answer',
      status: 0,
      mayBeDone: false,
      message: 'The port does not speak TLS: use http:// in place of https:// in the address.',
    });
    expect(retried).toEqual([]);
    const right = new OwnerClient({ url: plain.api, apiKey: owner.apiKey });
    expect((await right.listApps()).apps).toEqual([]);
  });

  test('http:// at the HTTPS port of the API, and of the ops listener', async () => {
    const api = `http://127.0.0.1:${encrypted.service.api.port}`;
    const ops = `http://127.0.0.1:${encrypted.service.ops.port}`;
    for (const [args, env] of [
      [['apps', 'list'], owned(api)],
      [['accounts', 'list'], connectedTo({ ops })],
    ] as const) {
      const { code, stderr } = await musterHere(args, env);
      expect(code).not.toBe(0);
      expect(stderr).toContain('This port speaks HTTPS: use https://.');
    }
  });

  test('the port of the ops listener for that of the API, and the other way round', async () => {
    const listed = await musterHere(['apps', 'list'], owned(plain.ops));
    expect(listed.stderr).toContain('this is the ops listener, which speaks /operator/v1. Use the address of the API');
    const accounts = await musterHere(['accounts', 'list'], connectedTo({ ops: plain.api }));
    expect(accounts.stderr).toContain(
      'this is the API listener, which speaks /v1. Use the address of the ops listener',
    );
  });

  test('with the right door it gets in', async () => {
    expect(await musterHere(['apps', 'list'], owned(plain.api))).toMatchObject({ code: 0 });
    expect((await musterHere(['accounts', 'list'], connectedTo(plain))).code).toBe(0);
  });
});
