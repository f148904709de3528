import { existsSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';

const MIB = 1024 * 1024;
const WHOLE = 4 * MIB;

let directory: string;
let path: string;
let reserve: string;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'muster-reserve-'));
  path = join(directory, 'muster.db');
  reserve = `${path}-reserve`;
  await (await openSqliteStore(path))[Symbol.asyncDispose]();
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(directory, { recursive: true });
});

const sizeAndFile = (): readonly [size: number, file: bigint] => {
  const { size, ino } = statSync(reserve, { bigint: true });
  return [Number(size), ino];
};

test.each([
  [4096, true, 'a killed process wrote its beginning alone'],
  [MIB, true, 'the disk was a small one'],
  [3.5 * MIB, false, 'the free room of a disk moves all the time'],
  [WHOLE, false, 'it is whole'],
])('a start on a reserve of %i bytes makes it anew: %s (%s)', async (bytes, isMadeAnew) => {
  truncateSync(reserve, bytes);
  const [, before] = sizeAndFile();
  await using _ = await openSqliteStore(path);
  const [size, after] = sizeAndFile();
  expect([size, after !== before]).toEqual([isMadeAnew ? WHOLE : bytes, isMadeAnew]);
});

test('what a process left that was killed while it made the reserve takes no room', async () => {
  writeFileSync(`${reserve}-unfinished`, Buffer.alloc(MIB));
  await using _ = await openSqliteStore(path);
  expect([existsSync(`${reserve}-unfinished`), sizeAndFile()[0]]).toEqual([false, WHOLE]);
});

test.each<[string, () => void]>([
  ['removed', () => rmSync(reserve)],
  ['cut', () => truncateSync(reserve, 1)],
])('a reserve that is %s while the store is open is made anew', async (_how, spoil) => {
  vi.useFakeTimers();
  await using _ = await openSqliteStore(path);
  spoil();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sizeAndFile()[0]).toBe(WHOLE);
  vi.useRealTimers();
});
