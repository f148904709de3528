import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { configuredFile } from '../../../src/config/files/configured-file.ts';
import { boundedContent } from '../../../src/service/files/watched-file.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { Watching } from '../../support/files/watching.ts';

let dir: string;
beforeEach(() => {
  dir = scratchDirectory('muster');
});
afterEach(() => rmSync(dir, { recursive: true }));

test('a reason is told once, another one again, and the recovery once', async () => {
  const path = join(dir, 'file');
  const watching = new Watching();
  const says = (text: string): void => writeFileSync(path, text);
  says('fine');
  watching.files.add<string>({
    files: [configuredFile('MUSTER_KEY_FILE', path)],
    parse([content]) {
      const text = content.toString();
      if (text !== 'fine') throw new Error(text);
      return text;
    },
  });
  for (const next of ['fine', 'half a line', 'half a line', 'no key', 'fine', 'fine', 'no key']) {
    says(next);
    await watching.files.round();
  }
  const told = watching.lines.map(({ level, why }) => why ?? level);
  expect(told).toEqual(['half a line', 'no key', 'info', 'no key']);
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
