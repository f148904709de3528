import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BACKUP_FORMAT, BackupWriter, readBackup, type BackupHeader } from '../../../src/domain/backup/file-format.ts';
import { FORMAT } from '../../../src/domain/records/records.ts';
import type { Entry } from '../../../src/store/port.ts';
import { runs } from '../../support/run/effort.ts';

const HEADER: BackupHeader = {
  muster: 'backup',
  format: BACKUP_FORMAT,
  recordsFormat: FORMAT,
  revision: 7,
  at: '2026-06-01T12:00:00.000Z',
  backend: 'sqlite',
  version: '0.1.0',
};
const ENTRIES: readonly Entry[] = [
  { key: 'a', value: '{"n":1}', revision: 3 },
  { key: 'b', value: '{"text":"línea\\n"}', revision: 7 },
];

function textOf(entries = ENTRIES, header: object = HEADER): string {
  const writer = new BackupWriter();
  return writer.header(header as BackupHeader) + writer.entries(entries) + writer.trailer();
}

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(file: string | Uint8Array, chunk = 1_048_576): Promise<Entry[]> {
  const bytes = typeof file === 'string' ? Buffer.from(file) : file;
  const entries: Entry[] = [];
  for await (const piece of readBackup(inChunks(bytes, chunk))) if ('entry' in piece) entries.push(piece.entry);
  return entries;
}

test('what was written is read, wherever the pieces are cut', async () => {
  const key = fc.stringMatching(/^[ -~]{1,20}$/);
  const values = fc.uniqueArray(fc.tuple(key, fc.string({ unit: 'grapheme' }), fc.integer({ min: 1 })), {
    selector: ([key]) => key,
  });
  await fc.assert(
    fc.asyncProperty(values, fc.integer({ min: 1, max: 100 }), async (drawn, chunk) => {
      const entries = drawn
        .map(([key, value, revision]) => ({ key, value, revision }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1));
      expect(await read(textOf(entries), chunk)).toEqual(entries);
    }),
    { numRuns: runs(30) },
  );
});

test('a file that was cut off anywhere is refused', async () => {
  const whole = Buffer.from(textOf());
  for (let length = 0; length < whole.length; length += 1) {
    await expect(read(whole.subarray(0, length)), `at ${length}`).rejects.toThrow(/breaks off/);
  }
});

test('a file with any one byte altered is refused', async () => {
  const whole = Buffer.from(textOf());
  for (let at = 0; at < whole.length; at += 1) {
    const altered = Buffer.from(whole);
    altered[at] = (altered[at] ?? 0) ^ 1;
    await expect(read(altered), `at ${at}`).rejects.toThrow(/^(?:The|This|Entry) /);
  }
});

const [HEAD = '', FIRST = '', SECOND = '', TRAILER = ''] = textOf()
  .split('\n')
  .map((line) => `${line}\n`);

test.each([
  ['an empty file', '', /breaks off/],
  ['a text', 'Dear all,\n', /no backup of Muster/],
  ['the JSON of something else', '{"version":1}\n', /This is no backup of Muster/],
  ['a list', '[1]\n', /This is no backup of Muster/],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x0a]), /no backup of Muster/],
  ['one line without an end', 'x'.repeat(9 * 1024 * 1024), /too long/],
  ['a newer format', textOf(ENTRIES, { ...HEADER, format: BACKUP_FORMAT + 1 }), /newer Muster \(format 2\)/],
  ['a header without a revision', textOf(ENTRIES, { ...HEADER, revision: undefined }), /first line .* damaged/],
  ['an entry less', HEAD + FIRST + TRAILER, /sum does not match/],
  ['entries in another order', HEAD + SECOND + FIRST + TRAILER, /Entry 2 .* damaged/],
  ['an entry twice', HEAD + FIRST + FIRST + TRAILER, /Entry 2 .* damaged/],
  ['something after its end', `${textOf()}{}\n`, /goes on after its end/],
  ['a second header', HEAD + HEAD + FIRST, /damaged after entry 0/],
  [
    'a failure in place of its end',
    `${HEAD}${FIRST}{"failed":"the store is gone."}\n`,
    /finish.*: the store is gone\./,
  ],
])('%s is refused in words', async (_what, file, words) => {
  await expect(read(file)).rejects.toThrow(words);
});

test('unknown fields of a newer minor version do no harm', async () => {
  expect(await read(textOf(ENTRIES, { ...HEADER, entries: 2, later: true }))).toEqual(ENTRIES);
});
