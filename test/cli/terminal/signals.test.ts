import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { onInterruption } from '../../../src/cli/terminal/signals.ts';
import { BackupWriter } from '../../../src/domain/backup/file-format.ts';
import { failingCreate } from '../../support/cli/failing-create.ts';
import { signer } from '../../support/records/backups.ts';
import { connectedTo, MAIN, musterHere, musterProcess, ownedBy } from '../../support/service/muster-command.ts';
import { createApp, KEY_FILE_TEXT, Muster, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';
import { rawKey } from '../../support/store/raw-key.ts';

/* The end of a command whose reader closes early, or whose person stops it. */

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-'));
});
afterAll(() => rmSync(root, { recursive: true }));

function fifo(name: string): string {
  const path = join(root, name);
  execFileSync('mkfifo', [path]);
  return path;
}

/** The end to write to of a pipe that nobody reads any more. */
function unread(name: string): number {
  const path = fifo(name);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  closeSync(reader);
  return writer;
}

describe('where nobody reads stdout', () => {
  let muster: Muster;
  let accountId: string;
  beforeAll(async () => {
    muster = await Muster.start();
    ({ accountId } = await tenant(muster));
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  /** Runs the command with such a stdout. */
  async function ended(
    what: string,
    words: readonly string[],
    env = connectedTo(muster),
  ): Promise<readonly [code: number, stderr: string]> {
    const stdout = unread(what);
    const child = spawn(process.execPath, [MAIN, ...words], { stdio: ['ignore', stdout, 'pipe'], env });
    closeSync(stdout);
    const closed = once(child, 'close') as Promise<[number]>;
    const [stderr, [code]] = await Promise.all([child.stderr ? text(child.stderr) : '', closed]);
    return [code, stderr];
  }

  test.each([
    ['a list is cut off, and nothing is amiss', ['audit', 'list', '-a', 'ACCOUNT'], 0],
    ['a backup has failed', ['backup', 'create', '-'], 1],
    ['the checks have no verdict', ['doctor'], 1],
    ['nor is the audit', ['audit', 'verify'], 1],
  ])('%s: muster %j', async (what, args, code) => {
    const words = args.map((word) => (word === 'ACCOUNT' ? accountId : word));
    const said = code === 0 ? '' : 'muster: stdout: nobody reads it to its end\n';
    expect(await ended(what, words)).toEqual([code, said]);
  });

  test('what was made, and has a secret that nobody sees, is told by its id, also where it is quiet', async () => {
    const owner = await tenant(muster);
    const made = ['-a', owner.accountId, '--quiet'];
    const [code, said] = await ended('key', ['api-keys', 'create', ...made]);
    const listed = await musterHere(['api-keys', 'list', ...made, '-o', 'id'], connectedTo(muster));
    const keyId = listed.stdout.split('\n').find((id) => id !== '' && id !== owner.keyId);
    expect([code, said]).toEqual([
      1,
      `muster: stdout: nobody reads it to its end. The key ${keyId} was created, and its text could not be saved: ` +
        `\`muster api-keys revoke ${keyId} -a ${owner.accountId}\` revokes it.\n`,
    ]);
    const env = ownedBy(muster, owner.apiKey);
    const app = await ended('app', ['apps', 'create', '--quiet'], env);
    const appId = (await musterHere(['apps', 'list', '-o', 'id'], env)).stdout.trimEnd();
    expect(app).toEqual([1, expect.stringContaining(`The app ${appId} was created, and its code could not be saved:`)]);
    expect(await ended('code', ['apps', 'code', appId, '--quiet'], env)).toEqual([
      1,
      expect.stringContaining(`A code of the app ${appId} was issued, and could not be saved: issue another one.`),
    ]);
  });

  test('what was made by any request is told by its ids', async () => {
    const owner = await tenant(muster);
    const keys = `/operator/v1/accounts/${owner.accountId}/api-keys`;
    const [code, said] = await ended('api', ['api', 'POST', keys, '--quiet']);
    const listed = await musterHere(['api-keys', 'list', '-a', owner.accountId, '-o', 'id'], connectedTo(muster));
    const keyId = listed.stdout.split('\n').find((id) => id !== '' && id !== owner.keyId);
    expect([code, said]).toEqual([
      1,
      `muster: stdout: nobody reads it to its end. The POST is carried out, keyId ${keyId}.\n`,
    ]);
  });

  test('which of many apps failed is told with the reason', async () => {
    const owner = await tenant(muster);
    const { appId } = await createApp(muster, owner.apiKey);
    const none = '0'.repeat(20);
    const words = ['apps', 'revoke', appId, none, '--yes', '--quiet'];
    const [code, said] = await ended('revoked', words, ownedBy(muster, owner.apiKey));
    expect(code).toBe(1);
    expect(said).toMatch(
      /^muster: stdout: nobody reads it to its end\. 1 of 2 apps revoked; 1 failed\.\nFAILED +WHY\n0{20} +.+ \(request .+\)\n$/,
    );
  });

  test.each([
    ['all', 0, 0, /^The codes are in (.+)\.\n2 apps created\.\n$/, ['codes']],
    [
      'some',
      2,
      1,
      /^The codes are in (.+)\.\nGo on with: .+\nmuster: stdout: .+ 1 of 2 apps created; 1 failed\.\nFAILED +WHY\nb +.+\n$/,
      ['codes', 'codes.resume'],
    ],
  ])(
    '%s of many apps are created: where the codes are is told, and no lock stays',
    async (what, failing, ...expected) => {
      const { apiKey } = await tenant(muster);
      await using proxy = await failingCreate(muster.api, failing);
      const directory = mkdtempSync(join(root, `${what}-`));
      const codes = join(directory, 'codes');
      writeFileSync(join(root, `${what}.names`), 'a\nb\n');
      const words = ['apps', 'create', '--from', join(root, `${what}.names`), '--save-codes', codes];
      const [code, said] = await ended(what, words, ownedBy({ api: proxy.url }, apiKey));
      const [expectedCode, expectedWords, files] = expected;
      expect([code, said, readdirSync(directory)]).toEqual([expectedCode, expect.stringMatching(expectedWords), files]);
      expect(expectedWords.exec(said)?.[1]).toBe(codes);
    },
  );
});

test('a restore that is stopped ends in words: a dry run, since only that reads a pipe', async () => {
  const path = fifo('endless');
  writeFileSync(join(root, 'keys'), KEY_FILE_TEXT);
  const { child, ended } = musterProcess(['restore', path, '--dry-run'], {
    MUSTER_DATA_DIR: join(root, 'data'),
    MUSTER_KEY_FILE: join(root, 'keys'),
    MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
  });
  // Opens when the other end is opened: the restore has begun to read.
  const backup = await open(path, 'w');
  child.kill('SIGTERM');
  const writer = new BackupWriter(signer(1));
  const at = new Date(0).toISOString();
  const header = { muster: 'backup', format: 2, recordsFormat: 1, revision: 1, at, backend: '', version: '' } as const;
  await backup.write(writer.header(header));
  for (let number = 1; child.exitCode === null && child.signalCode === null; number += 1) {
    const key = `past/x/${String(number).padStart(12, '0')}`;
    await backup.write(writer.entries([{ key: rawKey(key), value: '{}', revision: 1 }])).catch(() => undefined);
  }
  await backup.close();
  expect(await ended).toEqual({ code: 1, stdout: '', stderr: 'muster: interrupted.\n' });
});

test('a signal that arrives twice, from the terminal and from the process above, is one', () => {
  const before = process.listenerCount('SIGINT');
  {
    using interruption = onInterruption(new Error('interrupted'));
    process.emit('SIGINT', 'SIGINT');
    process.emit('SIGINT', 'SIGINT');
    expect(interruption.signal.aborted).toBe(true);
    // Without a listener, the next one would kill the process.
    expect(process.listenerCount('SIGINT')).toBe(before + 1);
  }
  expect(process.listenerCount('SIGINT')).toBe(before);
});
