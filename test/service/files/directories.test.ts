import { mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeDirectories } from '../../../src/service/files/directories.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { musterCommand } from '../../support/service/muster-command.ts';

let root: string;
beforeAll(() => {
  root = scratchDirectory('directories');
});
afterAll(() => rmSync(root, { recursive: true }));

const modeOf = (path: string): number => statSync(path).mode & 0o777;

test('all that are missing are made, for their owner alone; those that are there stay as they are', () => {
  const there = join(root, 'there');
  mkdirSync(there, { mode: 0o755 });
  makeDirectories(join(there, 'a/b'));
  makeDirectories(join(there, 'a/b/'));
  makeDirectories(relative(process.cwd(), join(there, 'a/c')));
  expect(['', 'a', 'a/b', 'a/c'].map((name) => modeOf(join(there, name)))).toEqual([0o755, 0o700, 0o700, 0o700]);
  symlinkSync(there, join(root, 'link'));
  makeDirectories(join(root, 'link/d'));
  expect(readdirSync(there)).toEqual(['a', 'd']);
});

test.each([
  ['file', 'EEXIST', 'a file'],
  ['file/a', 'ENOTDIR', 'what lies in one'],
  ['file/a/b', 'ENOTDIR', 'deeper in one'],
  ['nowhere', 'EEXIST', 'a link that leads nowhere'],
  ['nowhere/a', 'EEXIST', 'what lies behind it'],
])('%s is refused with %s: %s', (name, code) => {
  writeFileSync(join(root, 'file'), '');
  rmSync(join(root, 'nowhere'), { force: true });
  symlinkSync(join(root, 'missing'), join(root, 'nowhere'));
  expect(() => makeDirectories(join(root, name))).toThrow(expect.objectContaining({ code }) as Error);
});

describe.runIf(process.platform === 'linux')('below /proc, which says of each name that it is missing', () => {
  test.each([
    [
      'a data directory',
      ['serve'],
      { MUSTER_DATA_DIR: '/proc/nope/x' },
      2,
      /MUSTER_DATA_DIR: \/proc\/nope\/x cannot be made/,
    ],
    ['that of muster dev', ['dev', '--data-dir', '/proc/nope/x'], {}, 2, /\/proc\/nope\/x cannot be made/],
    [
      'a home',
      ['context', 'add', 'here', '--url', 'http://127.0.0.1:1'],
      { HOME: '/proc/nope' },
      1,
      /^muster: \/proc\/nope: no such file or directory\n$/,
    ],
  ])('%s ends the command', async (_what, args, env, code, stderr) => {
    expect(await musterCommand(args, env)).toMatchObject({ code, stderr: expect.stringMatching(stderr) as string });
  });
});
