import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { openSqliteStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { putAll } from '../../../support/records/backups.ts';
import { keyLine } from '../../../support/records/key-lines.ts';
import { auditOf, issueCode, revoke, sendEnroll, setOtel } from '../../../support/service/daemon.ts';
import {
  connectedTo,
  musterCommand,
  musterHere,
  musterProcess,
  type Ended,
} from '../../../support/service/muster-command.ts';
import {
  call,
  createApp,
  enroll,
  KEY_FILE_TEXT,
  Muster,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Tenant,
} from '../../../support/service/muster.ts';
import { until } from '../../../support/time/until.ts';

let root: string;
let file: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-'));
  file = join(root, 'backup');
});
afterEach(() => rmSync(root, { recursive: true }));

/** Where a store lies: what a service and a restore are told of it. */
interface Place {
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string>>;
}

function newPlace(kind: 'sqlite' | 'etcd'): Place {
  const dataDir = mkdtempSync(join(root, 'data-'));
  writeFileSync(join(dataDir, 'keys'), KEY_FILE_TEXT);
  const etcd = { MUSTER_STORE: `etcd:${inject('etcd') ?? ''}`, MUSTER_ETCD_PREFIX: `/${randomUUID()}/` };
  return { dataDir, env: kind === 'etcd' ? etcd : {} };
}

const serviceAt = ({ dataDir, env }: Place): Promise<Muster> => Muster.start({ dataDir, env });

const backupOf = (muster: Muster, ...args: string[]): Promise<Ended> =>
  musterHere(['backup', 'create', file, ...args], connectedTo(muster));

const environmentAt = ({ dataDir, env }: Place): Readonly<Record<string, string>> => ({
  MUSTER_DATA_DIR: dataDir,
  MUSTER_KEY_FILE: join(dataDir, 'keys'),
  MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
  ...env,
});

const restoreTo = (place: Place, ...args: string[]): Promise<Ended> =>
  musterHere(['restore', file, ...args], environmentAt(place));

/** A small fleet with something of everything. */
async function livedIn(muster: Muster) {
  const owner = await tenant(muster);
  await setOtel(muster, owner.apiKey, { authHeader: 'Bearer collector-secret' });
  const running = await createApp(muster, owner.apiKey, 'running');
  const credential = await enroll(muster, running);
  const { etag } = Object.fromEntries((await poll(muster, credential)).headers) as { etag: string };
  const cutOff = await createApp(muster, owner.apiKey, 'cut off');
  const dead = await enroll(muster, cutOff);
  await revoke(muster, owner.apiKey, cutOff.appId);
  const waiting = await createApp(muster, owner.apiKey, 'waiting');
  return { owner, running, credential, etag, cutOff, dead, waiting };
}
type Lived = Awaited<ReturnType<typeof livedIn>>;

const appsOf = (muster: Muster, { apiKey }: Tenant) => call(`${muster.api}/v1/apps`, { token: apiKey });

async function seeAll(muster: Muster, lived: Lived, keptCodes: boolean): Promise<void> {
  const polled = await poll(muster, lived.credential, { 'if-none-match': lived.etag });
  expect([polled.status, polled.body['otel']]).toMatchObject([
    200,
    { headers: { Authorization: 'Bearer collector-secret' } },
  ]);
  expect(polled.headers.get('etag')).not.toBe(lived.etag);
  expect((await poll(muster, lived.dead)).status).toBe(401);
  expect((await sendEnroll(muster, lived.cutOff)).status).toBe(401);
  expect((await sendEnroll(muster, lived.running)).status).toBe(401);
  expect((await sendEnroll(muster, lived.waiting)).status).toBe(keptCodes ? 200 : 401);
  const anew = await issueCode(muster, lived.owner.apiKey, lived.waiting.appId);
  expect((await sendEnroll(muster, anew)).status).toBe(200);
}

type Kind = 'sqlite' | 'etcd';

/** Where each backup is restored to, and whether open codes are kept. */
const WAYS: readonly (readonly [from: Kind, to: readonly (readonly [to: Kind, keep: boolean])[]])[] = [
  [
    'sqlite',
    [
      ['sqlite', false],
      ['sqlite', true],
      ['etcd', true],
    ],
  ],
  [
    'etcd',
    [
      ['sqlite', true],
      ['etcd', false],
    ],
  ],
];
const isThere = (kind: Kind): boolean => kind === 'sqlite' || inject('etcd') !== undefined;

describe.each(WAYS)('from %s', (from, ways) => {
  test.skipIf(!isThere(from))(
    'to either store all is there: apps, audit, credentials, what is revoked and used; open codes are void unless kept',
    async () => {
      const source = newPlace(from);
      let lived: Lived;
      let before: { apps: object; audit: readonly object[] };
      {
        await using muster = await serviceAt(source);
        lived = await livedIn(muster);
        before = {
          apps: (await appsOf(muster, lived.owner)).body,
          audit: await auditOf(muster, lived.owner.accountId),
        };
        const made = await backupOf(muster);
        expect(made).toEqual({
          code: 0,
          stdout: expect.stringMatching(/^KEY +1\nSHA-256 +[0-9a-f]{64}\n/m) as string,
          stderr: expect.stringMatching(/^Backed up \d+ entries as of revision \d+, signed under key 1\.\n$/) as string,
        });
      }
      for (const [to, keep] of ways.filter(([to]) => isThere(to))) {
        const target = newPlace(to);
        const restored = await restoreTo(target, ...(keep ? ['--keep-codes'] : []));
        expect(restored, `to ${to}`).toEqual({
          code: 0,
          stdout: expect.stringMatching(/^DRY RUN +no$/m) as string,
          stderr: expect.stringMatching(/^Restored \d+ entries of /) as string,
        });
        await using muster = await serviceAt(target);
        expect((await appsOf(muster, lived.owner)).body, `to ${to}`).toEqual(before.apps);
        expect(await auditOf(muster, lived.owner.accountId), `to ${to}`).toEqual(before.audit);
        await seeAll(muster, lived, keep);
      }
    },
  );
});

test('a backup while many write is whole: every app that it has can be enrolled, and none is half there', async () => {
  const source = newPlace('sqlite');
  let owner: Tenant;
  const created = new Map<string, string>();
  {
    await using muster = await serviceAt(source);
    owner = await tenant(muster);
    const ended = new AbortController();
    const writers = Array.from({ length: 4 }, async () => {
      while (!ended.signal.aborted) {
        const app = await createApp(muster, owner.apiKey).catch(() => undefined);
        if (app) created.set(app.appId, app.enrollCode);
      }
    });
    expect(await musterCommand(['backup', 'create', file], connectedTo(muster))).toMatchObject({ code: 0 });
    ended.abort();
    await Promise.all(writers);
  }
  const target = newPlace('sqlite');
  const restored = await musterCommand(['restore', file, '--keep-codes'], environmentAt(target));
  expect(restored).toMatchObject({ code: 0 });
  await using muster = await serviceAt(target);
  const { apps } = (await appsOf(muster, owner)).body as { apps: { appId: string }[] };
  const audit = await auditOf(muster, owner.accountId);
  const creations = audit.filter(({ action }) => action === 'app.created').map(({ appId }) => appId ?? '');
  expect(creations.toSorted()).toEqual(apps.map(({ appId }) => appId).toSorted());
  for (const { appId } of apps) {
    const enrollCode = created.get(appId);
    if (enrollCode !== undefined) await enroll(muster, { appId, enrollCode });
  }
});

describe('the file', () => {
  test('is for its owner alone, is not replaced unless forced, and leaves nothing beside it', async () => {
    await using muster = await serviceAt(newPlace('sqlite'));
    writeFileSync(file, 'mine');
    expect(await backupOf(muster)).toMatchObject({ code: 2, stderr: expect.stringContaining('--force') as string });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(await backupOf(muster, '--force')).toMatchObject({ code: 0 });
    expect(readFileSync(file, 'utf8')).toContain('"muster":"backup"');
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    expect(readdirSync(root).filter((name) => name.includes('backup'))).toEqual(['backup']);
    const piped = await musterCommand(['backup', 'create', '-'], connectedTo(muster));
    expect([piped.code, piped.stdout.split('\n')[0]]).toEqual([0, expect.stringContaining('"muster":"backup"')]);
    const sha256 = createHash('sha256').update(piped.stdout).digest('hex');
    expect(piped.stderr).toMatch(new RegExp(`^Backed up .*\\nSHA-256: ${sha256}\\n$`));
  });

  test('is told of in the form of -o, also where it is quiet: what a restore may ask for is never lost', async () => {
    await using muster = await serviceAt(newPlace('sqlite'));
    const made = await backupOf(muster, '--quiet', '-o', 'json');
    const { at, ...told } = JSON.parse(made.stdout) as Record<string, unknown>;
    const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex');
    expect([made.code, made.stderr]).toEqual([0, '']);
    expect(told).toEqual({
      file,
      entries: expect.any(Number) as number,
      revision: expect.any(Number) as number,
      key: 1,
      sha256,
    });
    expect(new Date(String(at)).toISOString()).toBe(at);
    const again = await backupOf(muster, '--force', '--quiet', '-o', 'id');
    expect(again.stdout).toBe(`${createHash('sha256').update(readFileSync(file)).digest('hex')}\n`);
    expect(await musterHere(['backup', 'create', '-', '-o', 'json'], connectedTo(muster))).toEqual({
      code: 2,
      stdout: '',
      stderr: 'muster: With -, stdout is the backup itself: name a file, or leave -o out.\n',
    });
  });

  test('is told of once it is there', async () => {
    await using muster = await Muster.start();
    const { code, stderr } = await musterHere(['backup', 'create', ''], connectedTo(muster));
    expect([code, stderr]).toEqual([1, "muster: '': no such file or directory\n"]);
  });

  test('that has no place is named as it was asked for, and not by the one that it has for a moment', async () => {
    const env = { MUSTER_CLIENT_OPS_URL: 'http://127.0.0.1:9', MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN };
    const told = async (path: string): Promise<string> => (await musterHere(['backup', 'create', path], env)).stderr;
    expect(await told(join(root, 'nowhere', 'x'))).toBe(`muster: ${root}/nowhere: no such file or directory\n`);
    const long = join(root, 'x'.repeat(250));
    expect(await told(long)).toBe(`muster: ${long}: ENAMETOOLONG\n`);
  });

  test.each([
    ['a directory', () => root],
    ['a device', () => '/dev/null'],
  ])('does not take the place of %s, even forced', async (_what, path) => {
    const env = { MUSTER_CLIENT_OPS_URL: 'http://127.0.0.1:9', MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN };
    const { code, stderr } = await musterHere(['backup', 'create', '--force', path()], env);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is no file: name one')]);
  });

  test('holds no secret in plain text', async () => {
    await using muster = await serviceAt(newPlace('sqlite'));
    const { owner, credential, waiting, running } = await livedIn(muster);
    expect(await backupOf(muster)).toMatchObject({ code: 0 });
    const text = readFileSync(file, 'utf8');
    const secrets = [owner.apiKey, credential, waiting.enrollCode, running.enrollCode, OPERATOR_TOKEN];
    for (const secret of [...secrets, 'collector-secret', KEY_FILE_TEXT.slice(2).trim()]) {
      for (const form of [
        secret,
        Buffer.from(secret).toString('base64').slice(0, -4),
        Buffer.from(secret).toString('hex'),
      ]) {
        expect([secret, text.includes(form)]).toEqual([secret, false]);
      }
    }
  });

  test('that is truncated, altered or another one is refused, and writes nothing', async () => {
    {
      await using muster = await serviceAt(newPlace('sqlite'));
      await livedIn(muster);
      expect(await backupOf(muster)).toMatchObject({ code: 0 });
    }
    const whole = readFileSync(file, 'utf8');
    const target = newPlace('sqlite');
    for (const [text, words] of [
      [whole.slice(0, -20), /breaks off/],
      [whole.replace('running', 'runninG'), /altered or damaged/],
      ['{}\n', /no backup of Muster/],
    ] as const) {
      writeFileSync(file, text);
      const refused = await restoreTo(target);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(words);
      expect(refused.stderr.trimEnd().split('\n')).toHaveLength(1);
    }
    writeFileSync(file, whole);
    expect(await restoreTo(target)).toMatchObject({ code: 0 });
    const again = await restoreTo(target);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('not empty')]);
  });
});

test('nothing is restored under a running service, and its key file is missed where it is another', async () => {
  const source = newPlace('sqlite');
  await using muster = await serviceAt(source);
  await livedIn(muster);
  expect(await backupOf(muster)).toMatchObject({ code: 0 });
  const refused = await musterCommand(['restore', file], environmentAt(source));
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/in use.*stop the service/s)]);
  const target = newPlace('sqlite');
  writeFileSync(join(target.dataDir, 'keys'), keyLine(1, 9));
  const restored = await restoreTo(target, '--key-file', join(source.dataDir, 'keys'));
  expect(restored.stderr).toMatch(/1 collector headers are sealed under keys that are not in the key/);
});

describe('who made the file', () => {
  /** A backup that key 1 signed, and a place whose key file has gone on to key 2. */
  async function retired(): Promise<{ source: Place; target: Place }> {
    const source = newPlace('sqlite');
    await using muster = await serviceAt(source);
    await tenant(muster);
    expect(await backupOf(muster)).toMatchObject({ code: 0 });
    const target = newPlace('sqlite');
    writeFileSync(join(target.dataDir, 'keys'), keyLine(2));
    return { source, target };
  }

  test('a key that was retired is refused by its number, and the key file of that time verifies it', async () => {
    const { source, target } = await retired();
    expect(await restoreTo(target)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^muster: .*signed under key 1, which is not in the key file: .*--key-file\. .*--allow-unsigned with .*\n$/,
      ) as string,
    });
    const absent = await restoreTo(target, '--key-file', join(root, 'absent'));
    expect([absent.code, absent.stderr]).toEqual([1, expect.stringContaining('no such file')]);
    expect(await restoreTo(target, '--key-file', join(source.dataDir, 'keys'))).toMatchObject({ code: 0 });
  });

  test('a file that no key verifies is restored only by its SHA-256', async () => {
    const { target } = await retired();
    const refused = await restoreTo(target);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/which is not in the key file.*--allow-unsigned with/),
    ]);
    expect(await restoreTo(target, '--allow-unsigned', 'yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('SHA-256 of the whole file') as string,
    });
    const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex');
    expect(await restoreTo(target, '--allow-unsigned', 'a'.repeat(64))).toMatchObject({ code: 1 });
    expect(await restoreTo(target, '--allow-unsigned', sha256)).toMatchObject({ code: 0 });
  });

  test('nothing that a hostile file says reaches the terminal as it is', async () => {
    const { target } = await retired();
    const [header = ''] = readFileSync(file, 'utf8').split('\n');
    const words = { failed: 'x\u001b[2J\u009b\u202e\nmuster: Restored 7 entries' };
    writeFileSync(join(target.dataDir, 'keys'), KEY_FILE_TEXT);
    writeFileSync(file, `${header}\n${JSON.stringify(words)}\n`);
    expect((await restoreTo(target)).stderr).toBe(
      'muster: The service could not finish the backup: x\\x1b[2J\\x9b\\u202e\\x0amuster: Restored 7 entries\n',
    );
  });
});

test('without a service: exit code 1, in one line, and no file', async () => {
  const env = { MUSTER_CLIENT_OPS_URL: 'http://127.0.0.1:9', MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN };
  const { code, stderr } = await musterHere(['backup', 'create', file], env);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^muster: .*cannot be reached.*start it.*\n$/)]);
  expect(existsSync(file)).toBe(false);
  expect(readdirSync(root)).toEqual([]);
});

test('a service does not start on what an interrupted restore left', async () => {
  const { dataDir } = newPlace('sqlite');
  {
    await using store = await openSqliteStore(join(dataDir, 'muster.db'));
    await putAll(store, { [KEYS.restoring()]: { at: 1 }, [KEYS.day()]: { day: '2026-06-01' } });
  }
  const { code, stderr } = await musterCommand(['serve'], {
    MUSTER_DATA_DIR: dataDir,
    MUSTER_OPS_LISTEN: '127.0.0.1:0',
    MUSTER_PANEL_LISTEN: '127.0.0.1:0',
  });
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^muster cannot start: A restore was not finished\. .*empty it .* and restore again\.\n$/),
  ]);
});

test('a backup that stalls ends with --timeout, and leaves no file', async () => {
  await using muster = await serviceAt(newPlace('sqlite'));
  expect(await backupOf(muster)).toMatchObject({ code: 0 });
  const begun = readFileSync(file).subarray(0, 200);
  rmSync(file);
  await using stalling = createServer((_request, response) => void response.writeHead(200).write(begun));
  await once(stalling.listen(0, '127.0.0.1'), 'listening');
  const { port } = stalling.address() as AddressInfo;
  const { code, stderr } = await musterHere(['backup', 'create', file, '--timeout', '1s'], {
    ...connectedTo(muster),
    MUSTER_CLIENT_OPS_URL: `http://127.0.0.1:${port}`,
  });
  stalling.closeAllConnections();
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^muster: The answer stood still for 1000 ms\. \(request /),
  ]);
  expect(readdirSync(root).filter((name) => name.includes('backup'))).toEqual([]);
});

test('an interrupted backup leaves no file, and says so', async () => {
  await using muster = await serviceAt(newPlace('sqlite'));
  const stalled = createServer((_request, response) => response.writeHead(200).flushHeaders());
  await once(stalled.listen(0, '127.0.0.1'), 'listening');
  const { port } = stalled.address() as AddressInfo;
  const command = musterProcess(['backup', 'create', file], {
    ...connectedTo(muster),
    MUSTER_CLIENT_OPS_URL: `http://127.0.0.1:${port}`,
  });
  await until(() => readdirSync(root).some((name) => name.endsWith('.partial')));
  command.child.kill('SIGTERM');
  const { code, stderr } = await command.ended;
  stalled.close();
  stalled.closeAllConnections();
  expect([code, stderr]).toEqual([1, 'muster: interrupted: nothing was written.\n']);
  expect(readdirSync(root).filter((name) => !name.startsWith('data-'))).toEqual([]);
});
