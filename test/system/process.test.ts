import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { TcpProxy } from '../support/etcd/tcp-proxy.ts';
import { connectRaw, header } from '../support/http/raw-http.ts';
import { MainProgram } from '../support/service/main-program.ts';
import { call, createApp, enroll, KEY_FILE_TEXT, poll, tenant } from '../support/service/muster.ts';
import { until } from '../support/time/until.ts';

/*
 * How the program ends, by itself and by a signal, and what it finds at its next start; test/service/process.test.ts
 * has the rest.
 */

const REJECT_ON_SIGNAL = join(import.meta.dirname, 'fixtures/reject-on-signal.ts');

const etcd = inject('etcd');
const etcdPort = Number(new URL(etcd ?? 'http://none:1').port);

let root: string;
let dataDir: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-'));
  dataDir = join(root, 'not', 'there', 'yet');
});
afterEach(() => rmSync(root, { recursive: true }));

const start = (env: Record<string, string> = {}, nodeArguments?: readonly string[]): MainProgram =>
  new MainProgram({ MUSTER_DATA_DIR: dataDir, ...env }, nodeArguments);

describe.skipIf(etcd === undefined)('with an etcd that is not there yet', () => {
  const waiting = async (proxied: TcpProxy): Promise<MainProgram> => {
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

describe('it ends', () => {
  test('at SIGTERM with exit code 0; requests under way are answered, and later ones are not accepted', async () => {
    await using program = start();
    const muster = await program.listening;
    const { apiKey } = await tenant(muster);
    const credential = await enroll(muster, await createApp(muster, apiKey));
    const etag = (await poll(muster, credential)).headers.get('etag') ?? '';
    const held = poll(muster, credential, { 'if-none-match': etag, prefer: 'wait=50' });
    await expect.poll(async () => (await call(`${muster.ops}/metrics`)).text).toContain('muster_held_polls 1');
    await using client = await connectRaw(Number(new URL(muster.api).port));
    await client.send(
      `POST /v1/apps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: 2\r\n\r\n{`,
    );
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

  test('after an uncaught error: with exit code 1, once the requests under way are answered', async () => {
    await using program = start({}, ['--import', REJECT_ON_SIGNAL]);
    const muster = await program.listening;
    const { apiKey } = await tenant(muster);
    await using client = await connectRaw(Number(new URL(muster.api).port));
    await client.send(
      `POST /v1/apps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: 2\r\n\r\n{`,
    );
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

test('the next start has the account, its key, the app, the daemon, and the same token and keys', async () => {
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
