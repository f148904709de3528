import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { settleFormat } from '../../../../src/domain/replicas/format.ts';
import { StoreIdentity } from '../../../../src/domain/replicas/store-identity.ts';
import { openSqliteStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { selfSigned } from '../../../support/http/certificates.ts';
import { putAll } from '../../../support/records/backups.ts';
import { connectedTo, musterCommand, musterHere, notStarted } from '../../../support/service/muster-command.ts';
import { KEY_FILE_TEXT, Muster } from '../../../support/service/muster.ts';

let dataDir: string;
let env: Record<string, string>;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'muster-'));
  writeFileSync(join(dataDir, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
  env = notStarted(dataDir);
});
afterEach(() => rmSync(dataDir, { recursive: true }));

interface Diagnosis {
  readonly code: number | string | null;
  readonly findings: readonly string[];
}

async function diagnosed(more: Readonly<Record<string, string>> = {}): Promise<Diagnosis> {
  const { code, stdout } = await musterHere(['doctor'], { ...env, ...more });
  const findings = stdout.trimEnd().split('\n');
  for (const line of findings) expect(line).toMatch(/^(?:ok {2}|warn|fail) {2}\S.{12} {2}\S/);
  return { code, findings };
}

const failsOf = ({ findings }: Diagnosis): string[] => findings.filter((line) => line.startsWith('fail'));

test('a place where nothing was started yet is well; only the service is missing', async () => {
  const diagnosis = await diagnosed();
  expect(diagnosis.code).toBe(0);
  expect(diagnosis.findings.filter((line) => !line.startsWith('ok'))).toEqual([
    expect.stringMatching(/^warn {2}service .*127\.0\.0\.1:9 cannot be reached.*start it/),
  ]);
});

test('findings have no ids: -o id is refused before anything is checked', async () => {
  let asked = 0;
  await using server = createHttpServer((_request, response) => {
    asked += 1;
    response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const MUSTER_CLIENT_OPS_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await musterHere(['doctor', '-o', 'id'], { ...env, MUSTER_CLIENT_OPS_URL })).toEqual({
    code: 2,
    stdout: '',
    stderr: 'muster: This has no id: choose another form than -o id.\n',
  });
  expect(asked).toBe(0);
  await musterHere(['doctor', '-o', 'json'], { ...env, MUSTER_CLIENT_OPS_URL });
  expect(asked).toBeGreaterThan(0);
});

test('where the service must run, it is a fault that it cannot be reached; what it would hold is left alone', async () => {
  const { code, stdout } = await musterCommand(['doctor', '--running', '--deep'], env);
  expect(code).toBe(3);
  expect(stdout).toMatch(/^warn {2}store +not read: the service may hold it, and cannot be reached; /m);
  expect(stdout).toMatch(/^warn {2}audit +not verified: the service cannot be reached$/m);
  expect(stdout).not.toContain('held by the running service');
  expect(stdout).toMatch(/^fail {2}service .*127\.0\.0\.1:9 cannot be reached/m);
  expect(stdout).not.toMatch(/^\w+ +port /m);
});

test('the certificates of the listeners: how long they are valid, or what is wrong', async () => {
  const { cert, key } = selfSigned(dataDir, 'api');
  const [certFile, keyFile, other] = ['tls.crt', 'tls.key', 'other.key'].map((name) => join(dataDir, name));
  for (const [path, text] of [
    [certFile, cert],
    [keyFile, key],
    [other, selfSigned(dataDir, 'other').key],
  ] as const) {
    writeFileSync(path ?? '', text);
  }
  const paths = { MUSTER_API_TLS_CERT_FILE: certFile ?? '', MUSTER_API_TLS_KEY_FILE: keyFile ?? '' };
  const well = await diagnosed(paths);
  expect(well.code).toBe(0);
  expect(well.findings).toContainEqual(
    expect.stringMatching(/^warn {2}certificate .*api listener is valid for [01] days/),
  );
  const mismatched = await diagnosed({ ...paths, MUSTER_API_TLS_KEY_FILE: other ?? '' });
  expect(mismatched.code).toBe(3);
  expect(failsOf(mismatched)).toEqual([
    expect.stringMatching(/certificate .*api: the key is not that of the certificate/),
  ]);
});

test('a running service is asked: it is ready, takes the token, knows its key, and holds the store', async () => {
  await using muster = await Muster.start({ dataDir });
  const { code, findings } = await diagnosed(connectedTo(muster));
  expect([code, findings.filter((line) => !line.startsWith('ok'))]).toEqual([0, []]);
  for (const says of [
    /service .* is ready/,
    /token .* takes/,
    /keys .* key 1 is active/,
    /^ok .*store .* held by the running service: its findings above/,
  ]) {
    expect(findings.filter((line) => says.test(line))).toHaveLength(1);
  }
});

test('with --running the data is where the service is: a directory that is not to be had is no fault here', async () => {
  await using muster = await Muster.start({ dataDir });
  // As a pod has it that does not mount the volume: no file can be written there, by root either.
  const nowhere = join(dataDir, 'keys', 'data');
  const given = {
    ...env,
    ...connectedTo(muster),
    MUSTER_KEY_FILE: join(dataDir, 'keys'),
    MUSTER_DATA_DIR: nowhere,
    MUSTER_STORE: `sqlite:${join(nowhere, 'muster.db')}`,
  };
  const elsewhere = await musterHere(['doctor', '--running'], given);
  expect([elsewhere.code, elsewhere.stdout]).toEqual([0, expect.not.stringMatching(/^warn|^fail|^\w+ +disk/m)]);
  const here = await musterHere(['doctor'], given);
  expect([here.code, here.stdout]).toEqual([3, expect.stringMatching(/^fail {2}disk .*ENOTDIR/m)]);
});

test('a wrong token is told, and never shown', async () => {
  await using muster = await Muster.start({ dataDir });
  const token = 'another-operator-token-0123456789-abc';
  const diagnosis = await diagnosed({ ...connectedTo(muster), MUSTER_CLIENT_OPERATOR_TOKEN: token });
  expect(diagnosis.code).toBe(3);
  expect(failsOf(diagnosis)).toEqual([
    expect.stringMatching(/token .*does not take the operator token: replace it where it is from, MUSTER_/),
  ]);
  expect(diagnosis.findings.join('\n')).not.toContain(token);
});

test.each(['<html>', '{"reason":"closed"}'])(
  'a stranger that answers %s is no service, and is handed no token',
  async (text) => {
    const asked: (string | undefined)[] = [];
    await using server = createHttpServer(({ url, headers }, response) => {
      asked.push(url, headers.authorization);
      response.writeHead(200, { Connection: 'close' }).end(text);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const MUSTER_OPERATOR_TOKEN = 'operator-token-for-tests-0123456789';
    const diagnosis = await diagnosed({ MUSTER_CLIENT_OPS_URL: `http://127.0.0.1:${port}`, MUSTER_OPERATOR_TOKEN });
    expect(diagnosis.code).toBe(3);
    expect(failsOf(diagnosis)).toEqual([expect.stringMatching(/service .* answers 200, and not as Muster does/)]);
    expect(diagnosis.findings.join('\n')).not.toContain('held by the running service');
    expect(asked).toEqual(['/readyz', undefined]);
  },
);

test('a clock that is off by more than half a minute is told', async () => {
  await using server = createHttpServer((_request, response) => {
    response
      .writeHead(200, { Date: new Date(Date.UTC(2001, 1, 1)).toUTCString(), Connection: 'close' })
      .end('{"status":"ready"}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const diagnosis = await diagnosed({ MUSTER_CLIENT_OPS_URL: `http://127.0.0.1:${port}` });
  expect(diagnosis.code).toBe(3);
  expect(failsOf(diagnosis)[0]).toMatch(/clock .* s behind this one: set both by NTP/);
});

test('a process that was killed on an embedded store leaves a record that says nothing of a clock', async () => {
  await using store = await openSqliteStore(join(dataDir, 'muster.db'));
  await settleFormat(store, { identity: new StoreIdentity(undefined), initialize: true });
  const record = { replicaId: 'dead', startedAt: 1, version: '0.1.0', keyNumbers: [1], fingerprints: {}, clock: 1 };
  await putAll(store, { [KEYS.replica('dead')]: record });
  await store[Symbol.asyncDispose]();
  const { findings } = await diagnosed();
  expect(findings).toContainEqual(expect.stringMatching(/^ok {4}store .*the file opens and is whole/));
  expect(findings.join('\n')).not.toMatch(/^\w+ +clock /m);
});

test.each([
  ['an unknown variable', { MUSTER_COLOUR: 'hunter2' }, /configuration +MUSTER_COLOUR: there is no such variable/],
  ['a former name of the client', { MUSTER_URL: 'hunter2' }, /MUSTER_URL: there is no .* reads MUSTER_CLIENT_URL/],
  ['a wrong variable', { MUSTER_CURRENCY: 'hunter2' }, /configuration +MUSTER_CURRENCY: must be a currency/],
  ['a key file that is none', { MUSTER_KEY_FILE: 'package.json' }, /key file +package.json: line 1: expected N:/],
  ['an etcd that is not there', { MUSTER_STORE: 'etcd:http://127.0.0.1:1' }, /store +.*127\.0\.0\.1:1/],
  ['an address that is no URL', { MUSTER_CLIENT_OPS_URL: 'hunter2' }, /service +MUSTER_CLIENT_OPS_URL: must be http/],
])('%s fails, with what to do', async (_what, more, says) => {
  const given = {
    MUSTER_OPERATOR_TOKEN: 'operator-token-for-tests-0123456789',
    MUSTER_KEY_FILE: join(dataDir, 'keys'),
  };
  const diagnosis = await diagnosed({ ...given, ...more });
  expect(diagnosis.code).toBe(3);
  expect(failsOf(diagnosis)).toEqual([expect.stringMatching(says)]);
  expect(diagnosis.findings.join('\n')).not.toContain('hunter2');
});

test('a key file that others may read is a warning', async () => {
  chmodSync(join(dataDir, 'keys'), 0o644);
  const { code, findings } = await diagnosed();
  expect(code).toBe(0);
  expect(findings.find((line) => line.includes('key file'))).toMatch(/^warn .*mode 644\): chmod 600/);
});

test('a key file that others may write is a fault', async () => {
  chmodSync(join(dataDir, 'keys'), 0o622);
  const diagnosis = await diagnosed();
  expect([diagnosis.code, failsOf(diagnosis)]).toEqual([
    3,
    [expect.stringMatching(/key file .*others can write .*chmod go-w/)],
  ]);
});

test('a key file that is missing is made for a new store, and a fault beside one that was used', async () => {
  rmSync(join(dataDir, 'keys'));
  expect((await diagnosed()).findings).toContainEqual(expect.stringMatching(/^ok +key file .* at the first start/));
  // As `muster init-store` leaves it, and a first start that ended before it had made the file.
  const store = await openSqliteStore(join(dataDir, 'muster.db'));
  await settleFormat(store, { identity: new StoreIdentity(undefined), initialize: true });
  await store[Symbol.asyncDispose]();
  expect((await diagnosed()).findings).toContainEqual(expect.stringMatching(/^ok +key file .* at the first start/));
  const used = await openSqliteStore(join(dataDir, 'muster.db'));
  await putAll(used, { [KEYS.activeKey()]: { number: 1, fingerprint: '0123456789abcdef' } });
  await used[Symbol.asyncDispose]();
  expect(failsOf(await diagnosed())).toEqual([
    expect.stringMatching(/key file .*keys is missing, and the store is not new: restore your copy/),
  ]);
});

test('a port that another program has', async () => {
  const squatter = createServer().listen(0, '127.0.0.1');
  await once(squatter, 'listening');
  const { port } = squatter.address() as AddressInfo;
  const diagnosis = await diagnosed({ MUSTER_DEVICE_LISTEN: `127.0.0.1:${port}` });
  squatter.close();
  expect(diagnosis.code).toBe(3);
  expect(failsOf(diagnosis)).toEqual([expect.stringMatching(/port .* is taken .* set MUSTER_DEVICE_LISTEN/)]);
});

test.each([
  ['an interrupted restore', { [KEYS.restoring()]: { at: 1 } }, /format .*restore was not finished.*restore again/],
  ['the store of a newer Muster', { [KEYS.format()]: { format: 99 } }, /format .*99 is of a newer Muster/],
  [
    'an active key that is not in the key file',
    { [KEYS.format()]: { format: 1 }, [KEYS.activeKey()]: { number: 7, fingerprint: 'f' } },
    /keys .*key 7 is the active key and is not in the key file/,
  ],
])('%s is found in a store that nobody holds', async (_what, records, says) => {
  {
    await using store = await openSqliteStore(join(dataDir, 'muster.db'));
    await putAll(store, records);
  }
  const diagnosis = await diagnosed();
  expect(diagnosis.code).toBe(3);
  expect(failsOf(diagnosis)).toEqual([expect.stringMatching(says)]);
});

test('a store that is damaged, or that is the file of another program, is told with a sentence of its own', async () => {
  const file = join(dataDir, 'muster.db');
  {
    await using store = await openSqliteStore(file);
    await putAll(
      store,
      Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`key/${n}`, { text: 'x'.repeat(3000) }])),
    );
  }
  const bytes = readFileSync(file);
  writeFileSync(file, Buffer.from(bytes).fill(0xa5, 40_960, 49_960));
  const damaged = await diagnosed();
  expect(damaged.code).toBe(3);
  expect(failsOf(damaged)).toEqual([expect.stringMatching(/store .*the store is corrupt; restore a backup/)]);
  writeFileSync(file, 'another program writes here');
  const foreign = await diagnosed();
  expect(foreign.code).toBe(3);
  expect(failsOf(foreign)).toEqual([
    expect.stringMatching(/store .*muster\.db is no SQLite file, and is left as it is/),
  ]);
});
