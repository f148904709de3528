import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { createServer as createTcp, type AddressInfo, type Server } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTls, type TlsOptions } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { prepareDataDirectory } from '../../src/service/data-directory.ts';
import { NothingListens, refuseWrongAddresses } from '../../src/service/etcd-address.ts';
import { openWithRetry } from '../../src/service/open-store.ts';
import { makeCertificates } from '../support/http/certificates.ts';
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
  ['EROFS', /^MUSTER_DATA_DIR: data lies on a read-only file system: mount it writable/],
  ['EACCES', /^MUSTER_DATA_DIR: data may not be written by this user: change its owner or its mode/],
  ['EPERM', /^MUSTER_DATA_DIR: data may not be written by this user/],
  ['EIO', /^MUSTER_DATA_DIR: data cannot be made or written \(EIO\)/],
])('%s is told in words', (code, words) => {
  const failing = (): never => {
    throw Object.assign(new Error('as the system says it'), { code });
  };
  const act = (): void => prepareDataDirectory(readConfig({ MUSTER_DATA_DIR: './data' }), failing);
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
const { certificate: cert, key } = makeCertificates(place);
rmSync(place, { recursive: true });
const tlsServer = (more: TlsOptions = {}): Server =>
  createTls({ cert, key, ...more }).on('tlsClientError', () => undefined);
const answering = (text: string): Server => createTcp((socket) => void socket.once('data', () => socket.end(text)));

describe('an address of etcd that cannot be reached', () => {
  test('https:// where plain HTTP is spoken', async () => {
    const url = `https://127.0.0.1:${await portOf(createHttp((_request, response) => response.end('{}')))}`;
    const refused = refuseWrongAddresses([url]);
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(`MUSTER_STORE: ${url} does not speak TLS: write http://`);
  });

  test.each([
    ['without a certificate of the client', {}],
    ['with one alone', { requestCert: true, rejectUnauthorized: true }],
  ])('http:// where TLS is spoken, %s', async (_name, more) => {
    const url = `http://127.0.0.1:${await portOf(tlsServer(more))}`;
    const refused = refuseWrongAddresses([url]);
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(`MUSTER_STORE: ${url} speaks TLS: write https://`);
  });

  test('nothing listens there', async () => {
    // A port that nothing listens on.
    const [port] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    await expect(refuseWrongAddresses([url])).rejects.toThrow(`MUSTER_STORE: nothing listens at ${url}: start etcd`);
  });

  test.each([
    ['http', createHttp((_request, response) => response.end('{}'))],
    ['https', tlsServer()],
    ['http', answering('')],
  ])('nothing is said against %s:// where it is right, or cannot be told', async (scheme, server) => {
    await refuseWrongAddresses([`${scheme}://127.0.0.1:${await portOf(server)}`]);
  });
});

describe('a service that starts before its etcd', () => {
  test('waits while nothing listens, and is wrongly configured after 30 s of that', async () => {
    const clock = new FakeClock();
    let tries = 0;
    const open = async (): Promise<never> => {
      tries += 1;
      clock.advance(1000);
      throw new NothingListens('MUSTER_STORE: nothing listens at http://127.0.0.1:2379');
    };
    const sleepless = Object.assign(clock, { sleep: async () => undefined });
    const log = createLog('silent');
    await expect(openWithRetry(open, { clock: sleepless, log })).rejects.toThrow(ConfigError);
    expect(tries).toBe(30);
  });
});
