import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { dataDirectoryOf } from '../../src/config/rules.ts';
import { readConfig, readStoreConfig } from '../../src/config/config.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { MainProgram } from '../support/service/main-program.ts';
import { musterHere } from '../support/service/muster-command.ts';

/*
 * A store keeps what it acknowledged in a file that is found again; other forms of a path are refused, not guessed at.
 */

const place = scratchDirectory('store-path');
afterAll(() => rmSync(place, { recursive: true }));

/** What is no path, and what is said instead of its value. */
const FORMS: readonly (readonly [text: string, says: RegExp])[] = [
  [':memory:', /loses everything at a restart; write \/PATH in its place/],
  [':memory:?cache=shared', /loses everything at a restart/],
  ['file::memory:', /not a URI: write \/PATH without `file:`/],
  ['file:muster.db?mode=memory', /not a URI/],
  ['file:///var/lib/muster/muster.db', /not a URI/],
  ['FILE:muster.db?nolock=1', /not a URI/],
  ['sqlite:muster.db', /not a URI/],
  ['/var/lib/muster.db?nolock=1', /leave out the `\?`/],
  ['muster.db?mode=memory&cache=shared', /leave out the `\?`/],
  ['~', /`~` is not replaced here/],
  ['~/muster.db', /`~` is not replaced here; write the home directory itself/],
  ['~operator/muster.db', /`~` is not replaced here/],
  ['$HOME/muster.db', /variables are not replaced here; write their values/],
  ['/data/$NAME/muster.db', /variables are not replaced here/],
  ['/data/muster-${NAME}.db', /variables are not replaced here/],
  ['/data/$(hostname)/muster.db', /variables are not replaced here/],
  ['"/var/lib/muster.db"', /without quotation marks/],
  ["'/var/lib/muster.db'", /without quotation marks/],
  ['//var/lib/muster.db', /a single slash/],
  [' ', /must be a path$/],
  [' /var/lib/muster.db', /without blanks around it/],
  ['/var/lib/muster.db\n', /without control characters/],
  ['/var/lib/mu\0ster.db', /without control characters/],
  ['/var/lib/mu\u001bster.db', /without control characters/],
];
/** What is a directory, but no file. */
const DIRECTORIES: readonly (readonly [text: string, says: RegExp])[] = [
  '/',
  '.',
  '..',
  '/data/',
  '/data/.',
  'x/..',
].map((text) => [text, /must be the path of a file: add its name/]);

function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    expect(error).toMatchObject({ name: 'ConfigError' });
    return (error as Error).message;
  }
  return expect.unreachable('it was taken');
}

describe('a form that is no path is refused by name', () => {
  test.each([...FORMS, ...DIRECTORIES])('the store sqlite:%j', (text, says) => {
    const env = { MUSTER_STORE: `sqlite:${text}` };
    for (const read of [readConfig, readStoreConfig]) {
      const message = refusal(() => read(env));
      expect(message).toMatch(/^MUSTER_STORE: sqlite:PATH must be /);
      expect(message).toMatch(says);
    }
  });

  test.each(FORMS)('the data directory %j', (text, says) => {
    const env = { MUSTER_DATA_DIR: text };
    for (const read of [readConfig, readStoreConfig, dataDirectoryOf]) {
      const message = refusal(() => read(env));
      expect(message).toMatch(/^MUSTER_DATA_DIR: must be /);
      expect(message).toMatch(says);
    }
  });
});

test.each([
  [
    'MUSTER_STORE',
    'sqlite::memory:',
    'sqlite:PATH must be a path: `:memory:` loses everything at a restart; write /PATH',
  ],
  ['MUSTER_STORE', 'sqlite:file:m.db?mode=memory', 'sqlite:PATH must be a path, not a URI'],
  ['MUSTER_STORE', 'sqlite:~/m.db', 'sqlite:PATH must be a path from / on: `~` is not replaced here'],
  ['MUSTER_DATA_DIR', '~/muster', 'must be a path from / on: `~` is not replaced here'],
])('the service does not start with %s=%s: exit code 2', async (name, value, says) => {
  await using program = new MainProgram({ MUSTER_DATA_DIR: join(place, 'unmade'), [name]: value });
  expect(await program.exited).toEqual({ code: 2, signal: null });
  expect(program.stderr).toContain(`muster: the configuration is wrong.\n${name}: ${says}`);
  expect(existsSync(join(place, 'unmade'))).toBe(false);
});

test.each<[string, string[], number]>([
  ['init-store', ['init-store'], 2],
  ['restore', ['restore', join(place, 'no.backup')], 2],
  ['doctor', ['doctor'], 3],
  ['dev', ['dev'], 2],
])('%s refuses such a store', async (_name, args, exitCode) => {
  const { code, stdout, stderr } = await musterHere(args, {
    MUSTER_STORE: 'sqlite:file:m.db?mode=memory',
    HOME: place,
  });
  expect(`${stdout}${stderr}`).toContain('MUSTER_STORE: sqlite:PATH must be a path, not a URI');
  expect(code).toBe(exitCode);
});

test.each<[string, string[], number]>([
  ['env', ['env'], 2],
  ['dev by its option', ['dev', '--data-dir', '~/muster'], 2],
  ['env by its option', ['env', '--data-dir', '~/muster'], 2],
  ['keys add', ['keys', 'add'], 2],
  ['doctor', ['doctor'], 3],
])('%s looks in no folder of the name ~', async (_name, args, exitCode) => {
  const isNamed = args.includes('--data-dir');
  const { code, stdout, stderr } = await musterHere(args, {
    ...(!isNamed && { MUSTER_DATA_DIR: '~/muster' }),
    HOME: place,
  });
  expect(`${stdout}${stderr}`).toContain('MUSTER_DATA_DIR: must be a path from / on: `~` is not replaced here');
  expect(code).toBe(exitCode);
});
