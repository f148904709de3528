import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { AuditFile, auditOutput } from '../../../src/service/files/audit-file.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';

/* The places of the lines of the audit: a file, as people and rotations treat it, and standard output. */

const place = scratchDirectory('audit-file');
afterAll(() => rmSync(place, { recursive: true }));
let path = '';
let count = 0;
beforeEach(() => {
  count += 1;
  path = join(place, `audit-${count}.jsonl`);
});
const { signal } = new AbortController();
const text = (): string => readFileSync(path, 'utf8');

test('a file is made for its owner alone, and lines are appended to what is there', async () => {
  await using file = new AuditFile(path);
  expect(await file.lastLines()).toEqual([]);
  await file.write('one\ntwo\n', signal);
  await file.write('three\n', signal);
  expect([text(), statSync(path).mode & 0o777]).toEqual(['one\ntwo\nthree\n', 0o600]);
  await using again = new AuditFile(path);
  expect(await again.lastLines()).toEqual(['one', 'two', 'three']);
});

test.each([
  ['', []],
  ['\n', ['']],
  ['whole\ncut', ['whole']],
  ['cut', []],
  [`${'x'.repeat(300_000)}\nlast\n`, [expect.stringMatching(/^x+$/), 'last']],
])('the last whole lines are found: %j', async (before, lines) => {
  writeFileSync(path, before);
  await using file = new AuditFile(path);
  expect(await file.lastLines()).toEqual(lines);
});

test('after a line that was cut off the next one begins a line', async () => {
  writeFileSync(path, 'whole\ncut');
  await using file = new AuditFile(path);
  await file.write('next\n', signal);
  await file.write('more\n', signal);
  expect(text()).toBe('whole\ncut\nnext\nmore\n');
});

test('a file that was moved away or removed is made anew', async () => {
  await using file = new AuditFile(path);
  await file.write('one\n', signal);
  renameSync(path, `${path}.1`);
  await file.write('two\n', signal);
  rmSync(path);
  await file.write('three\n', signal);
  expect([text(), readFileSync(`${path}.1`, 'utf8')]).toEqual(['three\n', 'one\n']);
});

test('what is no file takes no line, and one that can be written again does', async () => {
  mkdirSync(path);
  await using file = new AuditFile(path);
  await expect(file.write('one\n', signal)).rejects.toThrow();
  rmSync(path, { recursive: true });
  await file.write('two\n', signal);
  expect(text()).toBe('two\n');
  const missing = new AuditFile(join(place, 'missing', 'audit.jsonl'));
  await expect(missing.lastLines()).rejects.toThrow('ENOENT');
  const device = new AuditFile('/dev/null');
  await expect(device.write('three\n', signal)).rejects.toThrow('is no file');
  chmodSync(path, 0o600);
});

test('lines on standard output are given to the output of the log, which tells nothing of before', async () => {
  const given: string[] = [];
  const output = auditOutput({ append: async (lines) => void given.push(lines) });
  await output.write('one\n', signal);
  expect([given, await output.lastLines()]).toEqual([['one\n'], []]);
});
