import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { call, createApp, enroll, KEY_FILE_TEXT, OPERATOR_TOKEN, poll, tenant } from './support/muster.ts';
import { connectRaw, header } from './support/raw-http.ts';
import { TcpProxy } from './support/tcp-proxy.ts';
import { until } from './support/until.ts';

const MAIN = join(import.meta.dirname, '../src/main.ts');
const REJECT_ON_SIGNAL = join(import.meta.dirname, 'fixtures/reject-on-signal.ts');

interface Listening {
  readonly api: string;
  readonly device: string;
  readonly ops: string;
}

/** The program as a process of its own. */
class Program implements AsyncDisposable {
  readonly stdout: string[] = [];
  readonly listening: Promise<Listening>;
  readonly exited: Promise<{ code: number | null; signal: string | null }>;
  stderr = '';
  readonly #child: ChildProcess;

  constructor(env: Readonly<Record<string, string>>, nodeArguments: readonly string[] = []) {
    const child = spawn(process.execPath, [...nodeArguments, MAIN], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        MUSTER_API_LISTEN: '127.0.0.1:0',
        MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
        MUSTER_OPS_LISTEN: '127.0.0.1:0',
        MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
        ...env,
      },
    });
    this.#child = child;
    child.stderr.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.exited = once(child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as string | null,
    }));
    const { promise, resolve, reject } = Promise.withResolvers<Listening>();
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.stdout.push(line);
      if (line.includes('muster is listening')) resolve(addresses(line));
    });
    child.once('close', () => reject(new Error(`it ended before it listened: ${this.stderr}`)));
    promise.catch(() => undefined);
    this.listening = promise;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill('SIGKILL');
    await this.exited;
  }
}

function addresses(line: string): Listening {
  const told = JSON.parse(line) as Record<keyof Listening, { host: string; port: number }>;
  const url = (name: keyof Listening): string => `http://${told[name].host}:${told[name].port}`;
  return { api: url('api'), device: url('device'), ops: url('ops') };
}

const etcd = inject('etcd');
const etcdPort = Number(new URL(etcd ?? 'http://none:1').port);

let root: string;
let dataDir: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-'));
  dataDir = join(root, 'not', 'there', 'yet');
});
afterEach(() => rmSync(root, { recursive: true }));

const start = (env: Record<string, string> = {}, nodeArguments?: readonly string[]): Program =>
  new Program({ MUSTER_DATA_DIR: dataDir, ...env }, nodeArguments);

describe('it does not start', () => {
  test('with a wrong configuration: exit code 2, the names and rules, no value', async () => {
    await using program = start({ MUSTER_LOG_LEVEL: 'hunter2', MUSTER_API_LISTEN: 'hunter2' });
    expect(await program.exited).toEqual({ code: 2, signal: null });
    expect(program.stderr).toMatch(/MUSTER_API_LISTEN: must be host:port/);
    expect(program.stderr).toMatch(/MUSTER_LOG_LEVEL: must be/);
    expect(program.stderr + program.stdout.join('')).not.toMatch(/hunter2|at .*\.ts:\d/);
  });

  test('with etcd and nothing else: exit code 2, and what to set', async () => {
    await using program = start({ MUSTER_STORE: 'etcd:http://127.0.0.1:1', MUSTER_OPERATOR_TOKEN: '' });
    expect((await program.exited).code).toBe(2);
    expect(program.stderr).toMatch(/MUSTER_OPERATOR_TOKEN.*must be set[\s\S]*MUSTER_KEY_FILE.*must be set/);
  });

  test('with a key file that is none: exit code 2, the line and the rule, not what stands there', async () => {
    const keys = join(root, 'keys');
    writeFileSync(keys, `${KEY_FILE_TEXT}2:hunter2\n`);
    await using program = start({ MUSTER_KEY_FILE: keys });
    expect((await program.exited).code).toBe(2);
    expect(program.stderr).toMatch(/MUSTER_KEY_FILE: line 2: expected N:<base64 of 32 bytes>/);
    expect(program.stderr + program.stdout.join('')).not.toContain('hunter2');
  });

  test.each(['api', 'device', 'ops'])(
    'where the port of the %s listener is taken: exit code 1, and which',
    async (name) => {
      const squatter = createServer().listen(0, '127.0.0.1');
      await once(squatter, 'listening');
      const { port } = squatter.address() as { port: number };
      await using program = start({ [`MUSTER_${name.toUpperCase()}_LISTEN`]: `127.0.0.1:${port}` });
      expect(await program.exited).toEqual({ code: 1, signal: null });
      expect(program.stderr).toContain(
        `The ${name} listener cannot listen on 127.0.0.1:${port}: the address is already in use.`,
      );
      squatter.close();
    },
  );

  test('where another process has the store: exit code 1, in words; the first goes on', async () => {
    await using first = start();
    const { ops } = await first.listening;
    await using second = start();
    expect((await second.exited).code).toBe(1);
    expect(second.stderr).toMatch(/muster\.db is in use by another process/);
    expect((await call(`${ops}/livez`)).status).toBe(200);
  });

  describe.skipIf(etcd === undefined)('with an etcd that is not there yet', () => {
    const waiting = async (proxied: TcpProxy): Promise<Program> => {
      await proxied.refuse();
      const keys = join(root, 'keys');
      writeFileSync(keys, KEY_FILE_TEXT);
      const program = start({
        MUSTER_STORE: `etcd:${proxied.url}`,
        MUSTER_ETCD_PREFIX: '/late/',
        MUSTER_KEY_FILE: keys,
      });
      await until(() => program.stdout.some((line) => line.includes('the store does not answer yet')));
      return program;
    };

    test('starts when it comes', async () => {
      await using proxied = await TcpProxy.before(etcdPort);
      await using program = await waiting(proxied);
      await proxied.accept();
      expect((await call(`${(await program.listening).ops}/livez`)).status).toBe(200);
    });

    test('ends at SIGTERM with exit code 0', async () => {
      await using proxied = await TcpProxy.before(etcdPort);
      await using program = await waiting(proxied);
      program.kill('SIGTERM');
      expect(await program.exited).toEqual({ code: 0, signal: null });
      expect(program.stderr).toBe('');
      expect(program.stdout.at(-1)).toContain('asked to end before it had started');
    });
  });

  test('where the data directory cannot be: exit code 1, and where', async () => {
    writeFileSync(join(root, 'not'), 'a file');
    await using program = start();
    expect((await program.exited).code).toBe(1);
    expect(program.stderr).toContain(dataDir);
  });
});

describe('it ends', () => {
  test('at SIGTERM with exit code 0; what is under way is answered, and what comes later is not taken', async () => {
    await using program = start();
    const muster = await program.listening;
    const { apiKey } = await tenant(muster);
    const credential = await enroll(muster, await createApp(muster, apiKey));
    const etag = (await poll(muster, credential)).headers.get('etag') ?? '';
    const held = poll(muster, credential, { 'if-none-match': etag, prefer: 'wait=50' });
    await expect.poll(async () => (await call(`${muster.ops}/metrics`)).text).toContain('muster_held_polls 1');
    await using client = await connectRaw(Number(new URL(muster.api).port));
    await client.send(`POST /v1/apps HTTP/1.1\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: 2\r\n\r\n{`);
    await call(`${muster.api}/v1/apps`, { token: apiKey });
    program.kill('SIGTERM');
    expect((await held).status).toBe(304);
    await expect.poll(async () => (await call(`${muster.ops}/readyz`)).text).toContain('draining');
    // The second one changes nothing.
    program.kill('SIGTERM');
    await expect(connectRaw(Number(new URL(muster.api).port))).rejects.toThrow('ECONNREFUSED');
    await client.send('}');
    const answer = await client.answer();
    expect([answer.status, header(answer, 'connection')]).toEqual([201, 'close']);
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stderr).toBe('');
    expect(program.stdout.at(-1)).toContain('muster has stopped');
  });

  test('at SIGINT as at SIGTERM', async () => {
    await using program = start();
    await program.listening;
    program.kill('SIGINT');
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });

  test('after a fault that nobody caught: with exit code 1, once what is under way is answered', async () => {
    await using program = start({}, ['--import', REJECT_ON_SIGNAL]);
    const muster = await program.listening;
    const { apiKey } = await tenant(muster);
    await using client = await connectRaw(Number(new URL(muster.api).port));
    await client.send(`POST /v1/apps HTTP/1.1\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: 2\r\n\r\n{`);
    await call(`${muster.api}/v1/apps`, { token: apiKey });
    program.kill('SIGUSR2');
    await expect.poll(async () => (await call(`${muster.ops}/readyz`)).text).toContain('draining');
    await client.send('}');
    expect((await client.answer()).status).toBe(201);
    expect(await program.exited).toEqual({ code: 1, signal: null });
    const fault = program.stdout.find((line) => line.includes('unhandledRejection')) ?? '{}';
    expect(JSON.parse(fault)).toMatchObject({ level: 'error', err: { message: 'nobody catches this' } });
  });
});

describe('what it keeps', () => {
  const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

  test.each([
    ['made by itself', false],
    ['given', true],
  ])('lies in files for its user alone, in a directory for its user alone (token and keys %s)', async (_how, given) => {
    const keys = join(root, 'keys');
    writeFileSync(keys, KEY_FILE_TEXT);
    await using program = start(given ? { MUSTER_KEY_FILE: keys } : { MUSTER_OPERATOR_TOKEN: '' });
    await program.listening;
    const files = readdirSync(dataDir);
    expect(files.filter((name) => !name.startsWith('muster.db')).toSorted()).toEqual(
      given ? [] : ['keys', 'operator-token'],
    );
    expect(files).toContain('muster.db');
    expect(files.map((name) => [name, modeOf(join(dataDir, name))])).toEqual(files.map((name) => [name, '600']));
    expect(modeOf(dataDir)).toBe('700');
  });

  test('is closed to others even where the directory was open to them before', async () => {
    mkdirSync(dataDir, { recursive: true });
    chmodSync(dataDir, 0o755);
    await using program = start();
    await program.listening;
    for (const name of readdirSync(dataDir)) expect([name, modeOf(join(dataDir, name))]).toEqual([name, '600']);
  });

  test('is there at the next start: the account, its key, the app, the daemon; and the same token and keys', async () => {
    const env = { MUSTER_OPERATOR_TOKEN: '' };
    let before: Record<string, unknown>;
    let state: { apiKey: string; credential: string };
    {
      await using first = start(env);
      const muster = await first.listening;
      const token = readFileSync(join(dataDir, 'operator-token'), 'utf8').trim();
      const accounts = `${muster.ops}/operator/v1/accounts`;
      const created = await call(accounts, { method: 'POST', token, body: { name: 'a', entitlement: 'enterprise' } });
      const key = await call(`${accounts}/${String(created.body['accountId'])}/api-keys`, { method: 'POST', token });
      const apiKey = String(key.body['apiKey']);
      const otel = { enabled: true, endpoint: 'https://otel.example.com', authHeader: 'Bearer kept' };
      await call(`${muster.api}/v1/otel-config`, { method: 'PUT', token: apiKey, body: otel });
      const credential = await enroll(muster, await createApp(muster, apiKey));
      state = { apiKey, credential };
      before = (await call(`${muster.api}/v1/apps`, { token: apiKey })).body;
      first.kill('SIGTERM');
      expect((await first.exited).code).toBe(0);
    }
    await using second = start(env);
    const muster = await second.listening;
    await expect.poll(async () => (await call(`${muster.ops}/readyz`)).status).toBe(200);
    expect((await call(`${muster.api}/v1/apps`, { token: state.apiKey })).body).toEqual(before);
    expect((await poll(muster, state.credential)).body['otel']).toMatchObject({
      headers: { Authorization: 'Bearer kept' },
    });
  });
});

test('it logs JSON, one object a line; and nothing where it is told to be silent', async () => {
  await using program = start();
  await program.listening;
  program.kill('SIGTERM');
  await program.exited;
  for (const line of program.stdout) expect(JSON.parse(line)).toMatchObject({ level: 'info', service: 'muster' });
  await using silent = start({ MUSTER_LOG_LEVEL: 'silent', MUSTER_OPS_LISTEN: '127.0.0.1:0' });
  await expect.poll(() => readdirSync(dataDir)).toContain('muster.db');
  silent.kill('SIGTERM');
  await silent.exited;
  expect([silent.stdout, silent.stderr]).toEqual([[], '']);
});
