import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseKeyRing } from '../../../../src/domain/keys/key-ring.ts';
import { keyLine } from '../../../support/records/key-lines.ts';
import { musterHere, type Ended } from '../../../support/service/muster-command.ts';

let root: string;
let path: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-keys-'));
  path = join(root, 'keys');
});
afterEach(() => rmSync(root, { recursive: true }));

const add = (...args: string[]): Promise<Ended> => musterHere(['keys', 'add', ...args], { MUSTER_KEY_FILE: path });

test('the next number is added, and its key is nowhere but in the file; mode and comments stay', async () => {
  const before = `# ours\n${keyLine(1)}${keyLine(4)}`.trimEnd();
  writeFileSync(path, before, { mode: 0o640 });
  chmodSync(path, 0o640);
  const { code, stdout, stderr } = await add('-o', 'json');
  expect([code, JSON.parse(stdout)]).toEqual([0, { number: 5, file: path }]);
  const text = readFileSync(path, 'utf8');
  expect(text.startsWith(`${before}\n5:`)).toBe(true);
  expect(parseKeyRing(text).numbers).toEqual([1, 4, 5]);
  expect(stdout + stderr).not.toContain(text.slice(before.length + 3).trimEnd());
  expect((statSync(path).mode & 0o777).toString(8)).toBe('640');
  expect(readdirSync(root)).toEqual(['keys']);
  expect((await add('-o', 'id')).stdout).toBe('6\n');
  const [five, six] = [5, 6].map((number) => parseKeyRing(readFileSync(path, 'utf8')).fingerprint(number));
  expect(five).not.toBe(six);
});

test('without MUSTER_KEY_FILE it is the one in the data directory; where there is none, nothing is made', async () => {
  const env = { MUSTER_DATA_DIR: root };
  expect(await musterHere(['keys', 'add'], env)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/no key file at .*keys/) as string,
  });
  expect(existsSync(path)).toBe(false);
  writeFileSync(path, keyLine(1), { mode: 0o600 });
  expect(await musterHere(['keys', 'add'], env)).toMatchObject({ code: 0 });
  expect(parseKeyRing(readFileSync(path, 'utf8')).numbers).toEqual([1, 2]);
});

test('a link stays one, and the file that it leads to is replaced', async () => {
  const real = join(root, 'real');
  writeFileSync(real, keyLine(1), { mode: 0o600 });
  symlinkSync(real, path);
  expect(await add()).toMatchObject({ code: 0 });
  expect(parseKeyRing(readFileSync(real, 'utf8')).numbers).toEqual([1, 2]);
  expect(readdirSync(root).toSorted()).toEqual(['keys', 'real']);
});

test.each([
  ['is no key file', () => writeFileSync(path, 'hunter2\n', { mode: 0o600 }), 2, /line 1: expected N:/],
  ['is not there', () => undefined, 2, /keys: the file cannot be read \(ENOENT\)/],
  [
    'is writable by others',
    () => {
      writeFileSync(path, keyLine(1));
      chmodSync(path, 0o622);
    },
    2,
    /others can write .*chmod go-w/,
  ],
  [
    'has as many keys as it may',
    () => writeFileSync(path, Array.from({ length: 100 }, (_, n) => keyLine(n + 1)).join(''), { mode: 0o600 }),
    1,
    /more than 100 keys/,
  ],
  [
    'is being added to',
    () => {
      writeFileSync(path, keyLine(1), { mode: 0o600 });
      writeFileSync(join(root, '.keys.next'), '');
    },
    1,
    /another `muster keys add` is at work, or was interrupted/,
  ],
])('where the file %s, it stays as it is', async (_what, make, exitCode, words) => {
  make();
  const before = existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  const { code, stdout, stderr } = await add();
  expect([code, stdout]).toEqual([exitCode, '']);
  expect(stderr).toMatch(words);
  expect(stderr).not.toContain('hunter2');
  expect(existsSync(path) ? readFileSync(path, 'utf8') : undefined).toBe(before);
});
