import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { ROOT } from '../support/repository/source-tree.ts';
import { MainProgram } from '../support/service/main-program.ts';
import { etcdBackend } from '../support/store/backends.ts';
import { call, KEY_FILE_TEXT, Muster } from '../support/service/muster.ts';
import { until } from '../support/time/until.ts';

/* How the program starts, or does not; test/system/process.test.ts has how it ends. */

let root: string;
let dataDir: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-'));
  dataDir = join(root, 'not', 'there', 'yet');
});
afterEach(() => rmSync(root, { recursive: true }));

const start = (env: Record<string, string> = {}): MainProgram => new MainProgram({ MUSTER_DATA_DIR: dataDir, ...env });

describe('it does not start', () => {
  test('with a wrong configuration: exit code 2, the names and rules, no value', async () => {
    await using program = start({ MUSTER_LOG_LEVEL: 'hunter2', MUSTER_API_LISTEN: 'hunter2' });
    expect(await program.exited).toEqual({ code: 2, signal: null });
    expect(program.stderr).toMatch(/MUSTER_API_LISTEN: must be host:port/);
    expect(program.stderr).toMatch(/MUSTER_LOG_LEVEL: must be/);
    expect(program.stderr + program.stdout.join('')).not.toMatch(/hunter2|at .*\.ts:\d/);
  });

  test('with an invalid key file: exit code 2, the line and the rule, not the content', async () => {
    const keys = join(root, 'keys');
    writeFileSync(keys, `${KEY_FILE_TEXT}2:hunter2\n`);
    await using program = start({ MUSTER_KEY_FILE: keys });
    expect((await program.exited).code).toBe(2);
    expect(program.stderr).toMatch(/MUSTER_KEY_FILE: line 2: expected N:<base64 of 32 bytes>/);
    expect(program.stderr + program.stdout.join('')).not.toContain('hunter2');
  });

  test('where the port of a listener is taken: exit code 1, and which', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    const { port } = squatter.address() as AddressInfo;
    const taken = (name: string): string =>
      `The ${name} listener cannot listen on 127.0.0.1:${port}: the address is already in use: set MUSTER_${name.toUpperCase()}_LISTEN`;
    await using program = start({ MUSTER_OPS_LISTEN: `127.0.0.1:${port}` });
    expect(await program.exited).toEqual({ code: 1, signal: null });
    expect(program.stderr).toContain(taken('ops'));
    for (const name of ['api', 'device']) {
      const env = { [`MUSTER_${name.toUpperCase()}_LISTEN`]: `127.0.0.1:${port}` };
      await expect(Muster.start({ env })).rejects.toThrow(taken(name));
    }
    squatter.close();
  });

  test('where another process has the store: exit code 1, in words; the first goes on', async () => {
    mkdirSync(dataDir, { recursive: true });
    await using first = await Muster.start({ dataDir });
    await using second = start();
    expect((await second.exited).code).toBe(1);
    expect(second.stderr).toMatch(/muster\.db is in use by another process/);
    expect((await call(`${first.ops}/livez`)).status).toBe(200);
  });

  test.each([
    ['no such method', `delete require(TRANSPORT).Http2SubchannelConnector.prototype.tcpConnect;`],
    ['no such class', `delete require(TRANSPORT).Http2SubchannelConnector;`],
    [
      'no such file',
      `const m = require('node:module'), load = m._load; m._load = (name, ...rest) => load(name.replace(/^@.*transport.js$/, 'gone'), ...rest);`,
    ],
  ])('on etcd, where gRPC has %s as the one that is replaced: exit code 1, in one sentence', async (_, change) => {
    const hook = join(root, 'other-grpc.cjs');
    const transport = join(ROOT, 'node_modules/@grpc/grpc-js/build/src/transport.js');
    writeFileSync(hook, `const TRANSPORT = ${JSON.stringify(transport)};\n${change}`);
    const keys = join(root, 'keys');
    writeFileSync(keys, KEY_FILE_TEXT, { mode: 0o600 });
    const env = { MUSTER_DATA_DIR: dataDir, MUSTER_KEY_FILE: keys, MUSTER_STORE: 'etcd:http://127.0.0.1:1' };
    await using program = new MainProgram(env, ['--require', hook]);
    expect(await program.exited).toEqual({ code: 1, signal: null });
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const version = dependencies['@grpc/grpc-js'];
    expect(program.stderr).toBe(
      `muster cannot start: @grpc/grpc-js ${version} does not fit: it lacks Http2SubchannelConnector.tcpConnect, without which a silent etcd holds connections for ever; install version ${version}.\n`,
    );
  });

  test('where the data directory cannot be: exit code 2, and where', async () => {
    writeFileSync(join(root, 'not'), 'a file');
    await using program = start();
    expect((await program.exited).code).toBe(2);
    expect(program.stderr).toContain(dataDir);
  });
});

describe('the packages that a start loads', () => {
  /** The packages of which a start has run a file, as V8 counts them in all threads of the process. */
  async function loadedBy(env: Record<string, string>): Promise<readonly string[]> {
    const coverage = join(root, 'coverage');
    await using program = start({ ...env, NODE_V8_COVERAGE: coverage });
    await program.listening;
    program.kill('SIGTERM');
    expect((await program.exited).code).toBe(0);
    const urls = readdirSync(coverage).flatMap((name) => {
      const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8')) as { result: { url: string }[] };
      return result.map(({ url }) => url);
    });
    const PACKAGE = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//;
    return [...new Set(urls.flatMap((url) => PACKAGE.exec(url)?.[1] ?? []))];
  }
  const OF_ETCD = ['etcd3', '@grpc/grpc-js', '@grpc/proto-loader', 'protobufjs', 'cockatiel'];
  /** Each is loaded at its first use. */
  const LATER = ['@zxcvbn-ts/core', '@zxcvbn-ts/language-common', '@simplewebauthn/server'];

  test('are none of those for etcd where the store is embedded', async () => {
    const loaded = await loadedBy({});
    expect(loaded).toContain('zod');
    expect(loaded.filter((name) => [...OF_ETCD, ...LATER].includes(name))).toEqual([]);
  });

  const url = inject('etcd');
  test.skipIf(url === undefined)('are those for etcd where the store is one', async () => {
    const { store = '', env = {} } = etcdBackend(url ?? '').place();
    const keys = join(root, 'keys');
    writeFileSync(keys, KEY_FILE_TEXT, { mode: 0o600 });
    const loaded = await loadedBy({ MUSTER_STORE: store, MUSTER_KEY_FILE: keys, ...env });
    expect(loaded).toEqual(expect.arrayContaining(OF_ETCD));
    expect(loaded.filter((name) => LATER.includes(name))).toEqual([]);
  });
});

describe('its files and its log', () => {
  const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

  function expectPrivate(): void {
    const files = readdirSync(dataDir);
    expect(files).toContain('muster.db');
    expect(files.map((name) => [name, modeOf(join(dataDir, name))])).toEqual(files.map((name) => [name, '600']));
  }
  const besideTheStore = (): string[] => readdirSync(dataDir).filter((name) => !name.startsWith('muster.db'));

  test('token and keys made by itself lie in files for its user alone; it logs JSON, one object a line', async () => {
    await using program = start({ MUSTER_OPERATOR_TOKEN: '' });
    await program.listening;
    expect(besideTheStore().toSorted()).toEqual(['keys', 'operator-token']);
    expectPrivate();
    expect(modeOf(dataDir)).toBe('700');
    program.kill('SIGTERM');
    expect(await program.exited).toEqual({ code: 0, signal: null });
    const lines = program.stdout.map((line) => JSON.parse(line) as { readonly replicaId: string });
    for (const line of lines) expect(line).toMatchObject({ level: 'info', service: 'muster' });
    // Every line names its replica, by one id.
    expect(new Set(lines.map(({ replicaId }) => replicaId))).toEqual(new Set([expect.stringMatching(/^[a-z0-9]+$/)]));
    expect(program.stdout.at(-1)).toContain('muster has stopped');
  });

  test('a configured token and configured keys are not kept; its files are private though the directory was open', async () => {
    mkdirSync(dataDir, { recursive: true });
    chmodSync(dataDir, 0o755);
    const keys = join(root, 'keys');
    writeFileSync(keys, KEY_FILE_TEXT);
    await using program = start({ MUSTER_KEY_FILE: keys });
    await program.listening;
    expect(besideTheStore()).toEqual([]);
    expectPrivate();
  });

  test('the log level silent logs nothing', async () => {
    await using silent = start({ MUSTER_LOG_LEVEL: 'silent' });
    await until(() =>
      readdirSync(root, { recursive: true, encoding: 'utf8' }).some((path) => path.endsWith('muster.db')),
    );
    silent.kill('SIGTERM');
    await silent.exited;
    expect([silent.stdout, silent.stderr]).toEqual([[], '']);
  });
});

describe('SIGUSR1', () => {
  test('opens no inspector, through which whoever may send signals would read every secret', async () => {
    await using program = start();
    const { ops } = await program.listening;
    program.kill('SIGUSR1');
    // The signal is handled in a turn of the event loop, as each of these is.
    for (let calls = 0; calls < 20; calls += 1) expect((await call(`${ops}/livez`)).status).toBe(200);
    program.kill('SIGTERM');
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stderr).toBe('');
  });

  // A flag holds from the first instruction on; the service by itself once its program is loaded.
  test.each([
    ['deploy/Dockerfile', /^ENTRYPOINT \["node", "--disable-sigusr1", "\/app\/bin\/muster.mjs"\]$/m],
    ['package.json', /"start": "exec node --disable-sigusr1 demo\/start.ts"/],
    ['package.json', /"demo": "exec node --disable-sigusr1 demo\/fleet.ts"/],
    ['bin/muster.mjs', /spawn\(node, \['--disable-sigusr1', OWN,/],
  ])('%s starts node without it', (path, started) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toMatch(started);
  });
});
