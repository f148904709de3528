import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { prepareDataDirectory } from '../../src/service/data-directory.ts';
import { MainProgram } from '../support/service/main-program.ts';

function scratch(): string {
  const root = mkdtempSync(join(tmpdir(), 'muster-data-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  writeFileSync(join(root, 'file'), '');
  return root;
}

test('a data directory that is a file: exit code 2, one sentence that names the variable, no stack', async () => {
  const path = join(scratch(), 'file');
  await using program = new MainProgram({ MUSTER_DATA_DIR: path });
  expect(await program.exited).toEqual({ code: 2, signal: null });
  expect(program.stderr).toBe(
    `muster: the configuration is wrong.\nMUSTER_DATA_DIR: ${path} is a file, or lies in one: name a directory\n`,
  );
  expect(program.stdout).toEqual([]);
});

test('a store in a directory that is a file names the other variable', () => {
  const root = scratch();
  const config = readConfig({ MUSTER_DATA_DIR: root, MUSTER_STORE: `sqlite:${join(root, 'file', 'muster.db')}` });
  expect(() => prepareDataDirectory(config)).toThrow(/^MUSTER_STORE: .*\/file is a file, or lies in one/);
});

test.each([
  ['EROFS', /^MUSTER_DATA_DIR: data lies on a read-only file system: mount it writable/],
  ['EACCES', /^MUSTER_DATA_DIR: data may not be written by this user: change its owner or its mode/],
  ['EPERM', /^MUSTER_DATA_DIR: data may not be written by this user/],
  ['EIO', /^MUSTER_DATA_DIR: data cannot be made or written \(EIO\)/],
])('%s is told in words', (code, words) => {
  const failing = (): never => {
    throw Object.assign(new Error('as the system says it'), { code });
  };
  const act = (): void => prepareDataDirectory(readConfig({ MUSTER_DATA_DIR: './data' }), failing);
  expect(act).toThrow(ConfigError);
  expect(act).toThrow(words);
});
