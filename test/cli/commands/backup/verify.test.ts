import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BACKUP as FOREIGN } from '../../../fixtures/stored-before/stored.ts';
import { keyLine } from '../../../support/records/key-lines.ts';
import { setOtel } from '../../../support/service/daemon.ts';
import { connectedTo, musterHere, type Ended } from '../../../support/service/muster-command.ts';
import { createApp, KEY_FILE_TEXT, Muster, OPERATOR_TOKEN, tenant } from '../../../support/service/muster.ts';

/* `muster backup verify` and `muster restore --dry-run`: what they find, and that they write nothing. */

let root: string;
let file: string;
let keys: string;
let made: Ended;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'muster-verify-'));
  [file, keys] = [join(root, 'backup'), join(root, 'keys')];
  writeFileSync(keys, KEY_FILE_TEXT, { mode: 0o600 });
  await using muster = await Muster.start();
  const owner = await tenant(muster);
  await setOtel(muster, owner.apiKey, { authHeader: 'Bearer collector-secret' });
  await createApp(muster, owner.apiKey);
  made = await musterHere(['backup', 'create', file], connectedTo(muster));
});
afterAll(() => rmSync(root, { recursive: true }));

const verify = (path: string, env: Record<string, string>, ...args: string[]): Promise<Ended> =>
  musterHere(['backup', 'verify', path, ...args], { MUSTER_DATA_DIR: join(root, 'nowhere'), ...env });
const written = (name: string, content: string | Uint8Array): string => {
  writeFileSync(join(root, name), content, { mode: 0o600 });
  return join(root, name);
};
const sha256Of = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

test('a whole file: its signature, its counts and its sum', async () => {
  const { code, stdout, stderr } = await verify(file, { MUSTER_KEY_FILE: keys }, '-o', 'json');
  expect([code, stderr]).toEqual([0, '']);
  const [, entries, revision] = /Backed up (\d+) entries as of revision (\d+)/.exec(made.stderr) ?? [];
  expect(JSON.parse(stdout)).toMatchObject({
    file,
    entries: Number(entries),
    revision: Number(revision),
    key: 1,
    signature: 'verified',
    unopened: 0,
    sha256: sha256Of(file),
  });
  expect((await verify(file, {}, '--key-file', keys)).stdout).toMatch(/^SIGNATURE +verified$/m);
});

test('without a key file damage is found, and it says that the signature is not verified', async () => {
  const { code, stdout, stderr } = await verify(file, {}, '-o', 'json');
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { signature: 'not verified', sha256: sha256Of(file) }]);
  expect(stderr).toContain('not verified, since there is no key file');
  const damaged = written('damaged', readFileSync(file, 'utf8').replace('account.created', 'account.creates'));
  expect(await verify(damaged, {})).toMatchObject({ code: 3, stdout: '' });
});

test('what a restore would refuse ends with 3, in one line', async () => {
  const whole = readFileSync(file, 'utf8');
  const other = written('other-keys', keyLine(2));
  for (const [path, key, words] of [
    [written('short', whole.slice(0, -20)), keys, /breaks off/],
    [written('altered', whole.replace('account.created', 'account.creates')), keys, /altered or damaged/],
    [written('none', '{}\n'), keys, /no backup of Muster/],
    [written('empty', ''), keys, /breaks off/],
    [file, other, /signed under key 1, which is not in the key file/],
    [FOREIGN, keys, /signed under key 2, which is not in the key file/],
  ] as const) {
    const { code, stdout, stderr } = await verify(path, { MUSTER_KEY_FILE: key });
    expect([code, stdout, path]).toEqual([3, '', path]);
    expect(stderr).toMatch(words);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  }
  const vouched = await verify(FOREIGN, { MUSTER_KEY_FILE: keys }, '--allow-unsigned', sha256Of(FOREIGN));
  expect(vouched).toMatchObject({ code: 0, stdout: expect.stringContaining('vouched for') as string });
  expect(await verify(FOREIGN, {}, '--allow-unsigned', 'a'.repeat(64))).toMatchObject({ code: 3 });
  expect(await verify(join(root, 'absent'), {})).toMatchObject({ code: 1, stdout: '' });
});

test('a directory in the place of a file is named', async () => {
  const folder = mkdtempSync(join(root, 'folder-'));
  const told = { code: 1, stdout: '', stderr: `muster: ${folder}: it is a directory\n` };
  const env = { MUSTER_DATA_DIR: join(root, 'nowhere'), MUSTER_KEY_FILE: keys };
  expect(await verify(folder, env)).toEqual(told);
  expect(await verify(file, env, '--key-file', folder)).toEqual(told);
  expect(await verify(file, { MUSTER_KEY_FILE: folder })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${folder}: it is a directory`) as string,
  });
  const restore = (...args: string[]): Promise<Ended> =>
    musterHere(['restore', ...args], { ...env, MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN });
  expect(await restore(folder, '--dry-run')).toEqual(told);
  expect(await restore(folder)).toMatchObject({ code: 2, stderr: expect.stringContaining(folder) as string });
  expect(await restore(file, '--key-file', folder, '--dry-run')).toEqual(told);
});

test('a dry run says what a restore would do, and makes nothing; the restore then does it', async () => {
  const dataDir = join(root, 'data');
  const env = { MUSTER_DATA_DIR: dataDir, MUSTER_KEY_FILE: keys, MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN };
  const restore = (path: string, ...args: string[]): Promise<Ended> => musterHere(['restore', path, ...args], env);
  const dry = await restore(file, '--dry-run');
  expect(dry).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^CODES VOIDED +1$[\s\S]*^DRY RUN +yes$/m) as string,
    stderr: expect.stringMatching(
      /^Nothing was written\. This would restore \d+ entries of \S+\.\n1 open enrollment codes would be void: .*\n$/,
    ) as string,
  });
  expect(existsSync(dataDir)).toBe(false);
  expect((await restore(file, '--dry-run', '--keep-codes')).stderr).not.toContain('void');
  // What is wrong with the file is the verdict of a dry run, and the failure of a restore.
  for (const bad of [written('cut', readFileSync(file).subarray(0, -20)), FOREIGN]) {
    const { stderr } = await restore(bad);
    expect(await restore(bad)).toEqual({ code: 1, stdout: '', stderr });
    expect(await restore(bad, '--dry-run')).toEqual({ code: 3, stdout: '', stderr });
    rmSync(dataDir, { recursive: true });
  }
  expect(await restore(join(root, 'absent'), '--dry-run')).toMatchObject({ code: 1, stdout: '' });
  expect(existsSync(dataDir)).toBe(false);
  // What can be read once alone would leave half a backup in the store.
  expect(await restore('/dev/null')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('save it first') as string,
  });
  expect(existsSync(dataDir)).toBe(false);
  expect(await restore(file, '-o', 'id')).toMatchObject({ code: 2, stdout: '' });
  expect(existsSync(dataDir)).toBe(false);
  const planned = JSON.parse((await restore(file, '--dry-run', '-o', 'json')).stdout) as object;
  expect(planned).toEqual({
    file,
    at: expect.stringMatching(/Z$/) as string,
    entries: expect.any(Number) as number,
    codesVoided: 1,
    unopened: 0,
    dryRun: true,
  });
  const real = await restore(file, '-o', 'json');
  expect(JSON.parse(real.stdout)).toEqual({ ...planned, dryRun: false });
  expect(real.stderr.split('\n')[0]).toBe(
    dry.stderr.split('\n')[0]?.replace('Nothing was written. This would restore', 'Restored'),
  );
  const store = readFileSync(join(dataDir, 'muster.db'));
  expect(await restore(file, '--dry-run')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('not empty') as string,
  });
  expect(readFileSync(join(dataDir, 'muster.db')).equals(store)).toBe(true);
  expect(readdirSync(dataDir)).not.toContain('keys');
});
