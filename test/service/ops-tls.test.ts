import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { serviceHere } from '../../src/cli/connection/service-here.ts';
import { issuedBy, makeCertificates, selfSigned, type SelfSigned } from '../support/http/certificates.ts';
import { MountedSecret } from '../support/records/mounted-secret.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { musterHere, type Ended } from '../support/service/muster-command.ts';
import { call, Muster, OPERATOR_TOKEN } from '../support/service/muster.ts';
import { secureCall } from '../support/service/secure-call.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';

/* The ops listener by HTTPS, and the command `muster` that asks it: beside the service, and from elsewhere. */

const FILES_EVERY_MS = 10_000;

let dir: string;
/** As cert-manager makes it for a Service: no address of a pod is among its names. */
let [first, second]: SelfSigned[] = [];
/** Of an authority, for 127.0.0.1. */
let issued: { readonly 'tls.crt': string; readonly 'tls.key': string };
let authority: string;
beforeAll(() => {
  dir = scratchDirectory('muster');
  [first, second] = ['ops 1', 'ops 2'].map((name) => selfSigned(dir, name, { names: 'DNS:muster-ops.fleet.svc' }));
  makeCertificates(dir);
  issued = {
    'tls.crt': readFileSync(join(dir, 'server.crt'), 'utf8'),
    'tls.key': readFileSync(join(dir, 'server.key'), 'utf8'),
  };
  authority = join(dir, 'ca.crt');
});
afterAll(() => rmSync(dir, { recursive: true }));

// A command trusts an authority to the end of its process, which it shares with other files here.
const trusted = getCACertificates('default');
afterEach(() => setDefaultCACertificates(trusted));

const files = ({ cert = '', key = '' }: Partial<SelfSigned> = {}): Record<string, string> => ({
  'tls.crt': cert,
  'tls.key': key,
});

let clock: FakeClock;
let secret: MountedSecret;
let muster: Muster;
let count = 0;
beforeEach(async () => {
  clock = new FakeClock(Date.now());
  secret = new MountedSecret(join(dir, `mount-${(count += 1)}`), issued);
  muster = await Muster.start({ clock, env: ofListener() });
});
afterEach(() => muster[Symbol.asyncDispose]());

const ofListener = (): Record<string, string> => ({
  MUSTER_OPS_TLS_CERT_FILE: secret.path('tls.crt'),
  MUSTER_OPS_TLS_KEY_FILE: secret.path('tls.key'),
});

/** `muster …` beside the service, with the settings of both, as a pod of the chart has them. */
const beside = (...args: string[]): Promise<Ended> =>
  musterHere(args, {
    ...ofListener(),
    XDG_CONFIG_HOME: dir,
    MUSTER_DATA_DIR: muster.dataDir,
    MUSTER_KEY_FILE: join(muster.dataDir, 'keys'),
    MUSTER_CLIENT_OPS_URL: muster.ops,
    MUSTER_CLIENT_CA_FILE: secret.path('tls.crt'),
    MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN,
  });

/** Turns the time until the files have been read again, and the listener presents what they have. */
const presents = (ca: string, name: string): Promise<void> =>
  until(async () => {
    clock.advance(FILES_EVERY_MS);
    return await secureCall(`${muster.ops}/livez`, { ca, servername: 'muster-ops.fleet.svc' }).then(
      ({ shown }) => shown === name,
      () => false,
    );
  });

describe('the ops listener is served by HTTPS', () => {
  test('with probes, metrics and the operator API, and not by HTTP', async () => {
    const ca = readFileSync(authority, 'utf8');
    for (const path of ['/livez', '/readyz', '/metrics']) {
      expect((await secureCall(`${muster.ops}${path}`, { ca })).status, `of ${path}`).toBe(200);
    }
    const keys = `${muster.ops}/operator/v1/keys`;
    expect((await secureCall(keys, { ca, token: OPERATOR_TOKEN })).status).toBe(200);
    expect((await secureCall(keys, { ca })).status).toBe(401);
    const plain = await fetch(muster.ops.replace('https:', 'http:'));
    expect([plain.status, await plain.text()]).toEqual([400, expect.stringContaining('use https://.')]);
  });

  test('while the others are what they were, and the metrics have its expiry', async () => {
    expect((await call(`${muster.api}/v1/apps`)).status).toBe(401);
    const { body } = await secureCall(`${muster.ops}/metrics`, { ca: readFileSync(authority, 'utf8') });
    const told = [...body.matchAll(/^muster_certificate_expiry_timestamp_seconds\{file="(\w+)"\} \d+$/gm)];
    expect(told.map(([, file]) => file)).toEqual(['MUSTER_OPS_TLS_CERT_FILE']);
  });
});

describe('beside the service, the command believes the certificate of its file', () => {
  test('of an authority that it does not know, and reads, writes and makes a backup', async () => {
    const doctor = await beside('doctor', '--running');
    expect([doctor.code, doctor.stdout]).toEqual([0, expect.stringMatching(/^ok +token .*takes the operator token$/m)]);
    expect(doctor.stdout).toMatch(/^warn +certificate +that of the ops listener is valid for [01] days/m);
    const created = await beside('accounts', 'create', '-n', 'Ärger & Co', '-o', 'json');
    expect([created.code, created.stdout]).toEqual([0, expect.stringContaining('Ärger & Co')]);
    const backup = join(dir, `backup-${count}`);
    expect(await beside('backup', 'create', backup)).toMatchObject({ code: 0 });
    expect(statSync(backup).size).toBeGreaterThan(500);
    expect(await beside('version', '--running')).toMatchObject({ code: 0 });
    expect(await beside('status')).toMatchObject({ code: 0 });
    // An answer without a body, and a refusal with one.
    const { accountId } = JSON.parse(created.stdout) as { accountId: string };
    expect(await beside('api-keys', 'list', '--account', accountId)).toMatchObject({ code: 0 });
    expect(await beside('api-keys', 'list', '--account', 'acc_none')).toMatchObject({ code: 4 });
  });

  test('for another name than 127.0.0.1, and the renewed one after it', async () => {
    secret.renew(files(first));
    await presents(first?.cert ?? '', 'ops 1');
    expect(await beside('keys', 'status')).toMatchObject({ code: 0 });
    secret.renew(files(second));
    // The file is ahead of the listener for a moment.
    expect(await beside('keys', 'status')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('its CA file has neither its certificate nor the authority') as string,
    });
    await presents(second?.cert ?? '', 'ops 2');
    expect(await beside('keys', 'status')).toMatchObject({ code: 0 });
  });

  test.each([
    ['cannot be read', (path: string) => rmSync(path), 'the CA file cannot be read (ENOENT)'],
    ['is none', (path: string) => writeFileSync(path, 'hunter2'), 'must have certificates in PEM'],
  ])('one that %s is a fault of the configuration', async (_what, spoil, words) => {
    spoil(secret.path('tls.crt'));
    const ended = await beside('keys', 'status');
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(words) as string });
    expect(ended.stderr).not.toContain('hunter2');
  });

  const chained = (): Record<string, string> => ({
    ...issued,
    'tls.crt': `${issued['tls.crt']}${readFileSync(authority, 'utf8')}`,
  });
  test.each([
    ['another certificate', () => files(first), () => second],
    [
      'what the file vouches for, but for another name',
      () => files(first),
      () => issuedBy(dir, 'ops 1', 'issued', { names: 'DNS:a.b' }),
    ],
    ['what an authority of its chain has issued', chained, () => issuedBy(dir, 'ca', 'neighbour')],
  ])('and sends no token to whoever took the port with %s', async (_what, own, presented) => {
    secret.renew(own());
    const asked: unknown[] = [];
    const server = createServer({ ...presented() }, ({ headers }, response) => {
      asked.push(headers);
      response.end('{}');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const ended = await musterHere(['keys', 'status'], {
      XDG_CONFIG_HOME: dir,
      MUSTER_CLIENT_OPS_URL: `https://127.0.0.1:${port}`,
      MUSTER_CLIENT_CA_FILE: secret.path('tls.crt'),
      MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN,
    });
    server.close();
    expect([ended.code, asked]).toEqual([1, []]);
  });
});

describe('beside a service whose listeners have different certificates', () => {
  let env: Record<string, string>;
  let own: Muster;
  beforeEach(async () => {
    const other = join(dir, `other-${count}`);
    mkdirSync(other);
    makeCertificates(other);
    // With its authority behind it, as most files of certificates are.
    const chain = ['server.crt', 'ca.crt'].map((name) => readFileSync(join(other, name), 'utf8')).join('');
    const ofApi = new MountedSecret(join(dir, `api-${count}`), {
      'tls.crt': chain,
      'tls.key': readFileSync(join(other, 'server.key'), 'utf8'),
    });
    const ofDevice = new MountedSecret(join(dir, `device-${count}`), files(first));
    const certificates = {
      ...ofListener(),
      MUSTER_API_TLS_CERT_FILE: ofApi.path('tls.crt'),
      MUSTER_API_TLS_KEY_FILE: ofApi.path('tls.key'),
      MUSTER_DEVICE_TLS_CERT_FILE: ofDevice.path('tls.crt'),
      MUSTER_DEVICE_TLS_KEY_FILE: ofDevice.path('tls.key'),
    };
    own = await Muster.start({ clock, env: certificates });
    const { api, device, ops } = own.service;
    env = {
      ...certificates,
      XDG_CONFIG_HOME: dir,
      MUSTER_DATA_DIR: own.dataDir,
      MUSTER_KEY_FILE: join(own.dataDir, 'keys'),
      MUSTER_API_LISTEN: `127.0.0.1:${api.port}`,
      MUSTER_DEVICE_LISTEN: `127.0.0.1:${device.port}`,
      MUSTER_OPS_LISTEN: `127.0.0.1:${ops.port}`,
      MUSTER_PANEL_LISTEN: 'off',
      MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
    };
  });
  afterEach(() => own[Symbol.asyncDispose]());

  test('the doctor finds it, by the variables of the service alone', async () => {
    const { code, stdout } = await musterHere(['doctor'], env);
    for (const what of ['service', 'clock', 'token']) expect(stdout).toMatch(new RegExp(`^ok +${what} `, 'm'));
    expect([code, stdout]).toEqual([0, expect.not.stringMatching(/^fail/m)]);
  });

  test('every listener is asked by what `muster env` and the chart make of them', async () => {
    const client = { ...serviceHere(env).variables, MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN };
    const { accountId } = JSON.parse(
      (await musterHere(['accounts', 'create', '-n', 'a', '-o', 'json'], client)).stdout,
    ) as { accountId: string };
    const keyFile = join(dir, `key-${count}`);
    await musterHere(['api-keys', 'create', '--account', accountId, '--save-key', keyFile], client);
    const owned = { ...client, MUSTER_CLIENT_API_KEY_FILE: keyFile };
    expect(await musterHere(['apps', 'list'], owned)).toMatchObject({ code: 0, stderr: 'There is no such app.\n' });
    expect(await musterHere(['status'], owned)).toMatchObject({ code: 0 });
    // The certificate of ops alone is that of no other listener.
    const MUSTER_CLIENT_CA_FILE = secret.path('tls.crt');
    expect(await musterHere(['apps', 'list'], { ...owned, MUSTER_CLIENT_CA_FILE })).toMatchObject({ code: 1 });
  });
});

describe('from elsewhere, the command believes an authority', () => {
  const from = (env: Readonly<Record<string, string>>, ...args: string[]): Promise<Ended> =>
    musterHere(args, { XDG_CONFIG_HOME: dir, MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN, ...env });

  test('of MUSTER_CLIENT_CA_FILE, for an address of a variable and of --url', async () => {
    const MUSTER_CLIENT_CA_FILE = authority;
    const unknown = await from({ MUSTER_CLIENT_OPS_URL: muster.ops }, 'keys', 'status');
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('or MUSTER_CLIENT_CA_FILE')]);
    expect(await from({ MUSTER_CLIENT_OPS_URL: muster.ops, MUSTER_CLIENT_CA_FILE }, 'keys', 'status')).toMatchObject({
      code: 0,
    });
    setDefaultCACertificates(trusted);
    expect(await from({ MUSTER_CLIENT_CA_FILE }, 'keys', 'status', '--url', muster.ops)).toMatchObject({ code: 0 });
  });

  test('of a context', async () => {
    const home = join(dir, `home-${count}`);
    mkdirSync(home, { mode: 0o700 });
    const env = { XDG_CONFIG_HOME: home };
    const added = await from(env, 'context', 'add', 'prod', '--ops-url', muster.ops, '--ca-file', authority);
    expect(added).toMatchObject({ code: 0 });
    expect(await from(env, 'keys', 'status', '--context', 'prod')).toMatchObject({ code: 0 });
  });

  test('whose file is no certificate: a fault of the configuration', async () => {
    const MUSTER_CLIENT_CA_FILE = join(dir, 'server.key');
    const ended = await from({ MUSTER_CLIENT_OPS_URL: muster.ops, MUSTER_CLIENT_CA_FILE }, 'keys', 'status');
    expect(ended).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('must have certificates in PEM') as string,
    });
  });
});
