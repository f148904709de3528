import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { CodesFile } from '../../../src/cli/commands/apps/codes-file.ts';
import { newSecretFile, openSecretFile } from '../../../src/cli/terminal/secret-file.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'muster-secret-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}
const modeOf = (path: string): number => statSync(path).mode & 0o777;

/** Both ways to write a secret. */
const WAYS = [
  ['newSecretFile', newSecretFile],
  [
    'openSecretFile',
    async (path: string, text: string): Promise<void> => {
      await using file = await openSecretFile(path);
      await file.append(text);
    },
  ],
] as const;

describe.each(WAYS)('%s', (_name, write) => {
  test('makes a file that its owner alone can read, and nothing beside it', async () => {
    const directory = folder();
    await write(join(directory, 'codes'), 'secret\n');
    expect(readdirSync(directory)).toEqual(['codes']);
    expect(readFileSync(join(directory, 'codes'), 'utf8')).toBe('secret\n');
    expect(modeOf(join(directory, 'codes'))).toBe(0o600);
  });

  test.each([
    ['a file', (path: string) => writeFileSync(path, 'kept')],
    ['a link to nothing', (path: string) => symlinkSync(`${path}-elsewhere`, path)],
  ])('never overwrites: %s', async (_what, put) => {
    const directory = folder();
    const path = join(directory, 'codes');
    put(path);
    await expect(write(path, 'secret')).rejects.toMatchObject({
      exitCode: 2,
      message: `${path} is there already: name a new file, none is overwritten.`,
    });
    expect(readdirSync(directory)).toEqual(['codes']);
  });

  test('a folder that is not there is told by the system', async () => {
    await expect(write(join(folder(), 'none', 'codes'), 'secret')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

test('what was appended before a fault is in the file', async () => {
  const path = join(folder(), 'codes');
  await using file = await openSecretFile(path);
  await file.append('one\n');
  await file.append('two\n');
  expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
});

test('the name of a file is on the disk before a secret is: its folder is synchronised, too', async () => {
  const directory = folder();
  await using probe = await open(directory, 'r');
  const { ino } = await probe.stat();
  const synced: number[] = [];
  const handles = Object.getPrototypeOf(probe) as FileHandle;
  const sync = Reflect.get<FileHandle, 'sync'>(handles, 'sync');
  using _ = vi.spyOn(handles, 'sync').mockImplementation(async function (this: FileHandle) {
    synced.push((await this.stat()).ino);
    await sync.call(this);
  });
  for (const [name, write] of WAYS) {
    await write(join(directory, name), 'secret');
    expect([name, synced.splice(0).includes(ino)]).toEqual([name, true]);
  }
  await (await CodesFile.create(join(directory, 'many')))[Symbol.asyncDispose]();
  expect(synced).toContain(ino);
});
