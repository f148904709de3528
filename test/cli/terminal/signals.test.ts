import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BackupWriter } from '../../../src/domain/backup/file-format.ts';
import { signer } from '../../support/records/backups.ts';
import { connectedTo, MAIN, musterProcess } from '../../support/service/muster-command.ts';
import { KEY_FILE_TEXT, Muster, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';

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

  test.each([
    ['a list is cut off, and nothing is amiss', ['audit', 'list', '-a', 'ACCOUNT'], 0],
    ['a backup has failed', ['backup', '-'], 1],
    ['the checks have no verdict', ['doctor'], 1],
    ['nor is the audit', ['audit', 'verify'], 1],
  ])('%s: muster %j', async (what, args, code) => {
    const stdout = unread(what);
    const words = args.map((word) => (word === 'ACCOUNT' ? accountId : word));
    const stdio = ['ignore', stdout, 'pipe'] as const;
    const child = spawn(process.execPath, [MAIN, ...words], { stdio: [...stdio], env: connectedTo(muster) });
    closeSync(stdout);
    const closed = once(child, 'close') as Promise<[number]>;
    const [stderr, [ended]] = await Promise.all([child.stderr ? text(child.stderr) : '', closed]);
    expect([ended, stderr]).toEqual([code, code === 0 ? '' : 'muster: stdout: nobody reads it to its end\n']);
  });
});

test('a restore that is stopped ends in words', async () => {
  const path = fifo('endless');
  writeFileSync(join(root, 'keys'), KEY_FILE_TEXT);
  const { child, ended } = musterProcess(['restore', path], {
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
    await backup.write(writer.entries([{ key, value: '{}', revision: 1 }])).catch(() => undefined);
  }
  await backup.close();
  expect(await ended).toEqual({ code: 1, stdout: '', stderr: 'muster: interrupted.\n' });
});
