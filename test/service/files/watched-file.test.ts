import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { boundedContent, watchedFile } from '../../../src/service/files/watched-file.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';

let dir: string;
beforeEach(() => {
  dir = scratchDirectory('muster');
});
afterEach(() => rmSync(dir, { recursive: true }));

test('a reason is told once, another one again, and the recovery once', async () => {
  const told: string[] = [];
  let fault: string | undefined;
  const { reread } = watchedFile({
    take: async () => {
      if (fault !== undefined) throw new Error(fault);
    },
    failed: (why) => told.push(why),
    recovered: () => told.push('recovered'),
  });
  for (const next of [undefined, 'half a line', 'half a line', 'no key', undefined, undefined, 'no key']) {
    fault = next;
    await reread();
  }
  expect(told).toEqual(['half a line', 'no key', 'recovered', 'no key']);
});

test.each([
  [0, 'nothing'],
  [100_000, 'more than one piece of a stream'],
  [200_000, 'as many bytes as there may be'],
])('%i bytes are read: %s', async (bytes) => {
  const path = join(dir, 'file');
  writeFileSync(path, Buffer.alloc(bytes, 7));
  expect(await boundedContent(path, 200_000)).toEqual(Buffer.alloc(bytes, 7));
});

test('one byte more than there may be is refused', async () => {
  const path = join(dir, 'file');
  writeFileSync(path, Buffer.alloc(200_001));
  await expect(boundedContent(path, 200_000)).rejects.toThrow('the file has more than 200000 bytes');
});
