import { chmodSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configuredFile } from '../../../src/config/files/configured-file.ts';
import { parseKeyRing, type KeyRing } from '../../../src/domain/keys/key-ring.ts';
import { watchedKeyFile } from '../../../src/service/files/key-file.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { rotate } from '../../support/records/key-lines.ts';
import { call, createApp, enroll, Muster, poll, tenant } from '../../support/service/muster.ts';
import { Watching } from '../../support/files/watching.ts';

const line = (number: number, fill = number): string => `${number}:${Buffer.alloc(32, fill).toString('base64')}\n`;

let dir: string;
let path: string;
let watching: Watching;
let needed: (numbers: readonly number[]) => Promise<readonly number[]>;
beforeEach(() => {
  dir = scratchDirectory('muster');
  path = join(dir, 'keys');
  watching = new Watching();
  needed = async () => [];
});
afterEach(() => rmSync(dir, { recursive: true }));

const says = (text: string): void => writeFileSync(path, text);
function opened(text: string): { readonly ring: KeyRing; readonly reread: () => Promise<void> } {
  says(text);
  const file = configuredFile('MUSTER_KEY_FILE', path);
  const ring = watchedKeyFile(watching.files, file, async (numbers) => needed(numbers));
  return { ring, reread: () => watching.files.round() };
}

test('a key that was added is known, the others stay', async () => {
  const { ring, reread } = opened(line(1));
  says(line(1) + line(2));
  await reread();
  expect([ring.numbers, ring.newest]).toEqual([[1, 2], 2]);
  expect(ring.key(2)).toEqual(Buffer.alloc(32, 2));
});

test('a key that was removed is gone, its fingerprint too', async () => {
  const { ring, reread } = opened(line(1) + line(2));
  says(line(2));
  await reread();
  expect([ring.numbers, ring.key(1), ring.fingerprint(1)]).toEqual([[2], undefined, undefined]);
});

test('a mounted secret: the name leads to another file', async () => {
  const { ring, reread } = opened(line(1));
  unlinkSync(path);
  writeFileSync(join(dir, 'next'), line(1) + line(2));
  symlinkSync(join(dir, 'next'), join(dir, 'link'));
  renameSync(join(dir, 'link'), path);
  await reread();
  expect(ring.numbers).toEqual([1, 2]);
});

test('a file with the same keys changes nothing and logs nothing', async () => {
  const { ring, reread } = opened(line(1));
  const { numbers } = ring;
  says(`# a remark\n${line(1)}`);
  await reread();
  expect(ring.numbers).toBe(numbers);
  expect(watching.logged).toEqual([]);
});

test('a file without a key that is in use is not taken, and is once nothing needs that key', async () => {
  const { ring, reread } = opened(line(1) + line(2) + line(3));
  const asked: (readonly number[])[] = [];
  needed = async (numbers) => {
    asked.push(numbers);
    return numbers.filter((number) => number === 2);
  };
  says(line(3) + line(4));
  await reread();
  expect(ring.numbers).toEqual([1, 2, 3]);
  expect(asked).toEqual([[1, 2]]);
  expect(watching.files.trouble()).toMatch(/^MUSTER_KEY_FILE: key 2 is in use and not in it: put the line back/);
  needed = async () => [];
  await reread();
  expect([ring.numbers, watching.files.trouble()]).toEqual([[3, 4], undefined]);
});

test('where it cannot be told whether a key is in use, it stays', async () => {
  const { ring, reread } = opened(line(1) + line(2));
  needed = () => Promise.reject(new Error('the store does not answer'));
  says(line(2));
  await reread();
  expect([ring.numbers, watching.files.trouble()]).toEqual([[1, 2], 'MUSTER_KEY_FILE: the store does not answer']);
});

describe('trouble keeps the keys from before, with one error line for each trouble', () => {
  test.each<[string, () => void, RegExp]>([
    ['not there', () => unlinkSync(path), /ENOENT/],
    ['empty, as while it is being written', () => says(''), /no key in it/],
    ['half a line', () => says(line(1) + line(2).slice(0, 20)), /line 2: expected/],
    ['a directory', () => (unlinkSync(path), symlinkSync(dir, path)), /it is a directory/],
    ['another key under a number that is known', () => says(line(1, 9) + line(2)), /key 1 is another one than before/],
    ['one that others can write', () => (says(line(1) + line(2)), chmodSync(path, 0o666)), /others can write/],
    ['more than any key file has', () => says(line(1) + '#'.repeat(70_000)), /more than 65536 bytes/],
  ])('%s', async (_, breaks, words) => {
    const { ring, reread } = opened(line(1));
    breaks();
    await reread();
    await reread();
    expect(ring.numbers).toEqual([1]);
    expect(ring.key(1)).toEqual(Buffer.alloc(32, 1));
    expect(watching.faults).toEqual([expect.stringMatching(words)]);
    expect(watching.logged.join()).not.toContain(line(2).slice(2, 16));

    rmSync(path, { force: true });
    says(line(1) + line(2));
    await reread();
    expect(ring.numbers).toEqual([1, 2]);
    unlinkSync(path);
    await reread();
    expect(watching.faults).toHaveLength(2);
  });
});

test('two keys of one number have two fingerprints, and no fingerprint reveals its key', () => {
  const [one, same, other] = [line(1), line(1), line(1, 2)].map((text) => parseKeyRing(text).fingerprint(1));
  expect(one).toBe(same);
  expect(one).not.toBe(other);
  expect(one).toMatch(/^[0-9a-f]{16}$/);
});

test('a start refuses a file without a key that is in use, whatever its roles, and starts once the line is back', async () => {
  const start = (...numbers: number[]) => {
    says(numbers.map((number) => line(number)).join(''));
    return Muster.start({ dataDir: dir, env: { MUSTER_ROLES: 'api,device' } });
  };
  await using first = await start(1);
  const { apiKey } = await tenant(first);
  const body = { enabled: true, endpoint: 'https://otel.example.com', authHeader: 'Bearer collector-secret' };
  await call(`${first.api}/v1/otel-config`, { method: 'PUT', token: apiKey, body });
  const credential = await enroll(first, await createApp(first, apiKey));
  await first[Symbol.asyncDispose]();
  await using rotating = await start(1, 2);
  expect((await rotate(rotating)).body).toEqual({ writing: 2, before: 1 });
  await rotating[Symbol.asyncDispose]();
  await expect(start(2)).rejects.toThrow(/^MUSTER_KEY_FILE: key 1 is in use and not in it: put the line back/);
  await using again = await start(1, 2);
  expect((await poll(again, credential)).text).toContain('collector-secret');
});
