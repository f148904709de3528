import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createTcp, type AddressInfo, type Server, type Socket } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTls, type TlsOptions } from 'node:tls';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { prepareDataDirectory } from '../../src/service/data-directory.ts';
import { faultOfAddresses, UnusableAddress } from '../../src/service/etcd-address.ts';
import { placeOf } from '../../src/service/etcd-probe.ts';
import { openWithRetry } from '../../src/service/open-store.ts';
import { selfSigned } from '../support/http/certificates.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { freePorts } from '../support/service/free-ports.ts';
import { MainProgram } from '../support/service/main-program.ts';
import { FakeClock } from '../support/time/fake-clock.ts';

function scratch(): string {
  const root = mkdtempSync(join(tmpdir(), 'muster-data-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  writeFileSync(join(root, 'file'), '');
  return root;
}

test('a data directory that is a file: exit code 2, one sentence that names the variable, no stack', async () => {
  const path = join(scratch(), 'file');
  await using program = new MainProgram({ MUSTER_DATA_DIR: path });
  expect(await program.exited).toEqual({ code: 2, signal: null });
  expect(program.stderr).toBe(
    `muster: the configuration is wrong.\nMUSTER_DATA_DIR: ${path} is a file, or lies in one: name a directory\n`,
  );
  expect(program.stdout).toEqual([]);
});

test('a store in a directory that is a file names the other variable', () => {
  const root = scratch();
  const config = readConfig({ MUSTER_DATA_DIR: root, MUSTER_STORE: `sqlite:${join(root, 'file', 'muster.db')}` });
  expect(() => prepareDataDirectory(config)).toThrow(/^MUSTER_STORE: .*\/file is a file, or lies in one/);
});

test.each([
  ['EROFS', /^MUSTER_DATA_DIR: \/muster-data lies on a read-only file system: mount it writable/],
  ['EACCES', /^MUSTER_DATA_DIR: \/muster-data may not be written by this user: change its owner or its mode/],
  ['EPERM', /^MUSTER_DATA_DIR: \/muster-data may not be written by this user/],
  ['EIO', /^MUSTER_DATA_DIR: \/muster-data cannot be made or written \(EIO\)/],
])('%s is told in words', (code, words) => {
  const failing = (): never => {
    throw Object.assign(new Error('as the system says it'), { code });
  };
  const act = (): void => prepareDataDirectory(readConfig({ MUSTER_DATA_DIR: '/muster-data' }), failing);
  expect(act).toThrow(ConfigError);
  expect(act).toThrow(words);
});

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const place = scratchDirectory('etcd-address');
afterAll(() => rmSync(place, { recursive: true }));
const { cert, key } = selfSigned(place, 'etcd');
const tlsServer = (more: TlsOptions = {}): Server =>
  createTls({ cert, key, ...more }).on('tlsClientError', () => undefined);
const speaking = (text: string): Server => createTcp((socket) => void socket.on('error', () => undefined).write(text));
const answering = (text: string): Server => createTcp((socket) => void socket.once('data', () => socket.end(text)));

describe('an address of etcd that cannot be reached', () => {
  // Whoever speaks is waited for, however slow this machine is; a peer that is silent is judged after a moment.
  const UNBOUNDED_MS = 2 ** 31 - 1;
  const faultOf = async (scheme: string, server: Server, answerMs = UNBOUNDED_MS): Promise<string> => {
    const url = `${scheme}://127.0.0.1:${await portOf(server)}`;
    const fault = await faultOfAddresses([url], { ca: Buffer.from(cert) }, answerMs);
    return `${fault?.mayPass === false ? 'at once: ' : ''}${fault?.message.replace(url, 'URL')}`;
  };
  const web = (): Server => createHttp((_request, response) => response.end('{}'));

  test.each<[string, string, () => Server, string]>([
    ['https://', 'plain HTTP is spoken', web, 'at once: MUSTER_STORE: URL does not speak TLS: write http://'],
    ['http://', 'TLS is spoken', () => tlsServer(), 'at once: MUSTER_STORE: URL speaks TLS: write https://'],
    [
      'http://',
      'TLS is spoken with clients that have a certificate',
      () => tlsServer({ requestCert: true, rejectUnauthorized: true }),
      'at once: MUSTER_STORE: URL speaks TLS: write https://',
    ],
    [
      'http://',
      'another web server listens',
      web,
      'MUSTER_STORE: what listens at URL is no etcd: it answers as another',
    ],
    ['http://', 'no HTTP is spoken', () => speaking('SSH-2.0\r\n'), 'is no etcd: it does not speak HTTP; correct the'],
    [
      'http://',
      'connections are closed',
      () => answering(''),
      'MUSTER_STORE: URL closes connections without an answer',
    ],
    [
      'https://',
      'HTTP/1.1 is spoken',
      () => tlsServer({ ALPNProtocols: ['http/1.1'] }),
      'it speaks TLS, and does not offer',
    ],
    [
      'https://',
      'something else is spoken over TLS',
      () => tlsServer().on('secureConnection', (socket: Socket) => void socket.end('not HTTP/2 at all')),
      'is no etcd: it speaks TLS, and no HTTP/2 over it',
    ],
    [
      'https://',
      'another authority issued the certificate',
      () => tlsServer(selfSigned(place, 'other')),
      'MUSTER_STORE: the certificate of URL is from an unknown authority: set MUSTER_ETCD_CA_FILE',
    ],
    [
      'https://',
      'a certificate of the client is demanded',
      () => tlsServer({ requestCert: true, rejectUnauthorized: true, ca: cert }),
      'MUSTER_STORE: URL demands a certificate of its clients: set MUSTER_ETCD_CERT_FILE and MUSTER_ETCD_KEY_FILE',
    ],
  ])('%s where %s', async (scheme, _what, server, words) => {
    expect(await faultOf(scheme.replace('://', ''), server())).toContain(words);
  });

  test.each([
    ['http', '', () => createTcp()],
    ['https', '', () => createTcp()],
    ['https', ' over TLS', () => tlsServer()],
  ])('%s:// where nobody answers%s', async (scheme, _how, server) => {
    expect(await faultOf(scheme, server(), 1)).toContain(
      'MUSTER_STORE: URL accepts connections and stays silent: etcd hangs',
    );
  });

  test('a URL without a port is asked at the one that its scheme implies', () => {
    expect(['https://etcd.example:443', 'http://[::1]:80', 'https://etcd.example:2379'].map(placeOf)).toEqual([
      { host: 'etcd.example', port: 443 },
      { host: '::1', port: 80 },
      { host: 'etcd.example', port: 2379 },
    ]);
  });

  test.each([
    ['has expired: renew it', '-1'],
    ['is for other names', '1'],
  ])('a certificate that %s', async (words, days) => {
    const issued = selfSigned(place, 'elsewhere', { days, names: days === '1' ? 'DNS:elsewhere.example' : undefined });
    const url = `https://127.0.0.1:${await portOf(tlsServer(issued))}`;
    expect((await faultOfAddresses([url], { ca: Buffer.from(issued.cert) }, UNBOUNDED_MS))?.message).toContain(
      `MUSTER_STORE: the certificate of ${url} ${words}`,
    );
  });

  test('nothing listens there, or the name is not known', async () => {
    // A port that nothing listens on.
    const [port] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    expect(await faultOfAddresses([url], undefined, UNBOUNDED_MS)).toMatchObject({
      reason: 'unreachable',
      message: `MUSTER_STORE: nothing listens at ${url}: start etcd, or correct the address`,
    });
    expect((await faultOfAddresses(['http://etcd.invalid:2379'], undefined))?.message).toMatch(
      /the name in http:\/\/etcd\.invalid:2379 (?:is not known|cannot be looked up): /,
    );
  });

  test('of several, the one that no waiting mends is told', async () => {
    const [port] = await freePorts(1);
    const tls = `http://127.0.0.1:${await portOf(tlsServer())}`;
    const fault = await faultOfAddresses([`http://127.0.0.1:${port}`, tls], undefined, UNBOUNDED_MS);
    expect(fault?.message).toContain(`${tls} speaks TLS`);
  });

  test.each([
    ['http', () => createHttp((_request, response) => response.end('{"etcdserver":"3.6.9","etcdcluster":"3.6.0"}'))],
    ['https', () => createSecureServer({ cert, key })],
  ])('nothing is said against %s:// where an etcd could be', async (scheme, server) => {
    expect(await faultOf(scheme, server())).toBe('undefined');
  });
});

describe('a service that starts before its etcd', () => {
  test('waits while nothing listens, and fails after 30 s of that, each time with the cause', async () => {
    const clock = new FakeClock();
    const told: Error[] = [];
    const open = async (): Promise<never> => {
      clock.advance(1000);
      throw new UnusableAddress('nothing listens at http://127.0.0.1:2379');
    };
    const sleepless = Object.assign(clock, { sleep: async () => undefined });
    const opening = openWithRetry(open, {
      clock: sleepless,
      log: createLog('silent'),
      waiting: (why) => told.push(why),
    });
    await expect(opening).rejects.toThrow('MUSTER_STORE: nothing listens at');
    expect(told).toHaveLength(29);
    expect(told.at(-1)).toBeInstanceOf(UnusableAddress);
  });

  test('does not wait where waiting mends nothing', async () => {
    const clock = new FakeClock();
    let tries = 0;
    const open = async (): Promise<never> => {
      tries += 1;
      throw new UnusableAddress('it speaks TLS', false);
    };
    await expect(openWithRetry(open, { clock, log: createLog('silent') })).rejects.toThrow(
      'MUSTER_STORE: it speaks TLS',
    );
    expect(tries).toBe(1);
  });
});
