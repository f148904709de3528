import { rmSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer as createHttps } from 'node:https';
import { once } from 'node:events';
import { createServer as createTcp, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTls } from 'node:tls';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { selfSigned, type SelfSigned } from '../../support/http/certificates.ts';
import { freePorts } from '../../support/service/free-ports.ts';
import { MainProgram } from '../../support/service/main-program.ts';
import { musterCommand } from '../../support/service/muster-command.ts';
import { KEY_FILE_TEXT } from '../../support/service/muster.ts';

/*
 * A start that fails ends by itself: with exit code 1, a sentence, and no fault that nobody caught. One that does not
 * end fails the test by the patience of the project. test/service/wrong-set-up.test.ts has every sentence about etcd.
 */

// Six of them wait for half a minute each, and do nothing meanwhile.
vi.setConfig({ maxConcurrency: 10 });

let root: string;
let own: SelfSigned;
const servers: Server[] = [];
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-'));
  own = selfSigned(root, 'etcd');
  writeFileSync(join(root, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
});
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(root, { recursive: true });
});

async function listening(server: Server): Promise<number> {
  server.on('connection', (socket: Socket) => socket.on('error', () => undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  return (server.address() as AddressInfo).port;
}

const onEtcd = (scheme: string, port: number): Record<string, string> => ({
  MUSTER_STORE: `etcd:${scheme}://127.0.0.1:${port}`,
  MUSTER_KEY_FILE: join(root, 'keys'),
  ...(scheme === 'https' && { MUSTER_ETCD_CA_FILE: join(root, 'etcd.crt') }),
});
const embedded = (name: string): Record<string, string> => ({ MUSTER_DATA_DIR: join(root, name) });
const silent = (): Server => createTcp(() => undefined);

/** A peer that is kept from answering within a second, as on a machine that is busy, is told to be silent. */
const orSlow = (words: string): RegExp => new RegExp(`${words}|stays silent`);

type Case = readonly [what: string, env: () => Promise<Record<string, string>>, words: string | RegExp];

test.concurrent.each<Case>([
  ['an etcd that is silent', async () => onEtcd('http', await listening(silent())), 'stays silent'],
  ['an etcd that is silent before TLS', async () => onEtcd('https', await listening(silent())), 'stays silent'],
  [
    'an etcd that is silent behind TLS',
    async () => onEtcd('https', await listening(createTls({ ...own, ALPNProtocols: ['h2'] }))),
    'stays silent',
  ],
  ['an etcd that is not there', async () => onEtcd('http', (await freePorts(1))[0] ?? 0), 'nothing listens at'],
  [
    'a web server in place of etcd',
    async () => onEtcd('https', await listening(createHttps(own, (_request, response) => response.end('hello')))),
    orSlow('is no etcd: it speaks TLS, and does not offer HTTP/2'),
  ],
  [
    'a certificate of an unknown authority',
    async () => onEtcd('https', await listening(createTls(selfSigned(root, 'other')))),
    orSlow('is from an unknown authority: set MUSTER_ETCD_CA_FILE'),
  ],
  [
    'a port that is taken',
    async () => ({ ...embedded('port'), MUSTER_API_LISTEN: `127.0.0.1:${await listening(silent())}` }),
    'The api listener cannot listen on',
  ],
  [
    'a store that is no database',
    async () => {
      const file = join(root, 'junk.db');
      writeFileSync(file, 'not a database at all');
      return { ...embedded('junk'), MUSTER_STORE: `sqlite:${file}` };
    },
    'is no SQLite file',
  ],
  [
    'the role kubernetes outside of a cluster',
    async () => ({
      ...embedded('outside'),
      MUSTER_ROLES: 'api,device,controller,kubernetes',
      MUSTER_KUBERNETES_RELEASE: 'default/muster',
      MUSTER_KUBERNETES_DEVICE_URL: 'https://device.example.com',
      MUSTER_KUBERNETES_NAMESPACES: 'default',
    }),
    'There is no service account: run it in a pod, or set KUBECONFIG.',
  ],
])('%s: exit code 1, and the cause', async (_what, env, words) => {
  await using program = new MainProgram(await env());
  expect(await program.exited).toEqual({ code: 1, signal: null });
  const told = program.stderr.split('\n').filter((line) => line.startsWith('muster cannot start: '));
  expect(told).toEqual([expect.stringMatching(words)]);
  expect(program.stdout.join('\n')).not.toMatch(/unhandledRejection|uncaughtException/);
});

test('a former name of the client is told with its new one', async () => {
  const file = join(root, 'former.db');
  writeFileSync(file, 'not a database at all');
  const wrong = { ...embedded('former'), MUSTER_STORE: `sqlite:${file}` };
  await using program = new MainProgram({ ...wrong, MUSTER_URL: 'http://a:1' });
  expect(await program.exited).toEqual({ code: 1, signal: null });
  expect(program.stdout.join('\n')).toContain(
    'no such variable (a command that asks a service reads MUSTER_CLIENT_URL)',
  );
});

test('a store that another process has: exit code 1, and the cause', async () => {
  await using holder = new MainProgram(embedded('held'));
  await holder.listening;
  await using second = new MainProgram(embedded('held'));
  expect(await second.exited).toEqual({ code: 1, signal: null });
  expect(second.stderr).toMatch(/^muster cannot start: the store .* is in use by another process\n$/);
});

test('init-store finds the same in the same words, and ends', async () => {
  const { code, stderr } = await musterCommand(['init-store'], onEtcd('https', await listening(silent())));
  expect([code, stderr]).toEqual([1, expect.stringMatching(/muster: MUSTER_STORE: https:.* stays silent: etcd hangs/)]);
});
