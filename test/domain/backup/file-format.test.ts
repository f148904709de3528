import { createHash, createHmac, hkdfSync } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  BACKUP_FORMAT,
  BackupWriter,
  readBackup,
  type BackupSnapshot,
  type Proof,
} from '../../../src/domain/backup/file-format.ts';
import { parseKeyRing } from '../../../src/domain/keys/key-ring.ts';
import { FORMAT } from '../../../src/domain/records/store-records.ts';
import type { Entry } from '../../../src/store/port.ts';
import { ringOf, RING, signer } from '../../support/records/backups.ts';
import { keyLine } from '../../support/records/key-lines.ts';
import { runs } from '../../support/run/effort.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const SNAPSHOT: BackupSnapshot = {
  muster: 'backup',
  format: BACKUP_FORMAT,
  recordsFormat: FORMAT,
  revision: 7,
  at: '2026-06-01T12:00:00.000Z',
  backend: 'sqlite',
  version: '0.1.0',
};
const ENTRIES: readonly Entry[] = [
  { key: rawKey('a'), value: '{"n":1}', revision: 3 },
  { key: rawKey('b'), value: '{"text":"línea\\n"}', revision: 7 },
];

function textOf(entries = ENTRIES, header: object = SNAPSHOT, key = signer(1)): string {
  const writer = new BackupWriter(key);
  return writer.header(header as BackupSnapshot) + writer.entries(entries) + writer.trailer();
}

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(file: string | Uint8Array, chunk = 1_048_576, proof?: Proof): Promise<Entry[]> {
  const bytes = typeof file === 'string' ? Buffer.from(file) : file;
  const entries: Entry[] = [];
  for await (const piece of readBackup(inChunks(bytes, chunk), proof)) if ('entry' in piece) entries.push(piece.entry);
  return entries;
}

const KNOWN: Proof = { keyRing: RING, vouched: false };
const readSigned = (file: string | Uint8Array, proof = KNOWN): Promise<Entry[]> => read(file, undefined, proof);

test('what was written is read, wherever the pieces are cut', async () => {
  const key = fc.stringMatching(/^[ -~]{1,20}$/);
  const values = fc.uniqueArray(fc.tuple(key, fc.string({ unit: 'grapheme' }), fc.integer({ min: 1 })), {
    selector: ([key]) => key,
  });
  await fc.assert(
    fc.asyncProperty(values, fc.integer({ min: 1, max: 100 }), async (drawn, chunk) => {
      const entries = drawn
        .map(([key, value, revision]) => ({ key: rawKey(key), value, revision }))
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
    await expect(readSigned(altered), `at ${at}`).rejects.toThrow(/^(?:The|This|Entry) /);
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
  ['a newer format', textOf(ENTRIES, { ...SNAPSHOT, format: BACKUP_FORMAT + 1 }), /newer Muster \(format 3\)/],
  ['a header without a revision', textOf(ENTRIES, { ...SNAPSHOT, revision: undefined }), /first line .* damaged/],
  ['an entry less', HEAD + FIRST + TRAILER, /sum does not match/],
  ['entries in another order', HEAD + SECOND + FIRST + TRAILER, /Entry 2 .* damaged/],
  ['an entry twice', HEAD + FIRST + FIRST + TRAILER, /Entry 2 .* damaged/],
  ['something after its end', `${textOf()}{}\n`, /goes on after its end/],
  ['something after its end that is no line', `${textOf()}{}`, /goes on after its end/],
  ['a header without a key', `${JSON.stringify(SNAPSHOT)}\n${FIRST}${TRAILER}`, /first line .* damaged/],
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
  expect(await read(textOf(ENTRIES, { ...SNAPSHOT, entries: 2, later: true }))).toEqual(ENTRIES);
});

/** The file with another header or other entries, and with sums that fit: what a person without the key can make. */
function forged({ header = SNAPSHOT as object, entries = ENTRIES }): string {
  return textOf(entries, header, { ...signer(1), key: Buffer.alloc(32, 1) });
}

test('a backup is verified by the key that its header names, whichever others there are', async () => {
  expect(await readSigned(textOf())).toEqual(ENTRIES);
  expect(await readSigned(textOf(ENTRIES, SNAPSHOT, signer(2)))).toEqual(ENTRIES);
});

test('its signature is the HMAC-SHA256 of all bytes before the trailer, under HKDF-SHA256 of the key for "backup"', () => {
  const [content, trailer] = [HEAD + FIRST + SECOND, JSON.parse(TRAILER) as { hmac: string; sha256: string }];
  const derived = Buffer.from(hkdfSync('sha256', Buffer.alloc(32, 7), '', 'backup', 32));
  expect(trailer.hmac).toBe(createHmac('sha256', derived).update(content).digest('hex'));
  expect(trailer.sha256).toBe(createHash('sha256').update(content).digest('hex'));
});

const OTHER: readonly Entry[] = [{ key: rawKey('c'), value: '{}', revision: 9 }];
test.each<[string, string, RegExp]>([
  [
    'with a changed entry, and a sum that fits',
    forged({ entries: OTHER }),
    /was not signed under key 1, or was altered/,
  ],
  [
    'with another header',
    forged({ header: { ...SNAPSHOT, at: '2020-01-01T00:00:00.000Z' } }),
    /was not signed under key 1/,
  ],
  [
    'with the header of another one of the same key',
    textOf(ENTRIES, { ...SNAPSHOT, revision: 8 }).split('\n')[0] + `\n${FIRST}${SECOND}${TRAILER}`,
    /altered/,
  ],
  [
    'with the end of another one of the same key',
    HEAD + FIRST + textOf(OTHER).split('\n').slice(-2).join('\n'),
    /altered/,
  ],
  ['with another one at its end', textOf() + textOf(OTHER), /goes on after its end/],
  ['with another one within', HEAD + FIRST + textOf(OTHER), /damaged after entry 1/],
  [
    'with its entries in another order, and a sum that fits',
    forged({ entries: ENTRIES.toReversed() }),
    /Entry 2 .* damaged/,
  ],
  ['without a signature', textOf().replace(/,"hmac":"[0-9a-f]+"/, ''), /damaged after entry 2/],
  [
    'whose signature is no hexadecimal of that length',
    textOf().replace(/"hmac":"[0-9a-f]+"/, '"hmac":"ab"'),
    /not signed/,
  ],
  ['of an earlier format', textOf().replace('"format":2', '"format":1'), /format 1, which no release .* is not read/],
  [
    'of a key that is not in the key file',
    textOf(ENTRIES, SNAPSHOT, signer(3, ringOf(3))),
    /key 3, which is not in the key file.*--allow-unsigned with/,
  ],
  [
    'of another key under a number of the key file',
    textOf(ENTRIES, SNAPSHOT, signer(1, parseKeyRing(keyLine(1, 99)))),
    /key 1, which is another key in the key file/,
  ],
])('a backup %s is refused where its maker counts', async (_what, file, words) => {
  await expect(readSigned(file)).rejects.toThrow(words);
});

test('a file that a person vouches for needs no signature, and one that is there is verified all the same', async () => {
  const vouched = (keyRing: Proof['keyRing']): Proof => ({ keyRing, vouched: true });
  expect(await readSigned(textOf(), vouched(undefined))).toEqual(ENTRIES);
  expect(await readSigned(textOf(), vouched(ringOf(2)))).toEqual(ENTRIES);
  await expect(readSigned(forged({ entries: OTHER }), vouched(RING))).rejects.toThrow(/altered/);
});

test('whoever alters bytes and repairs the sum is found out, wherever it is', async () => {
  const lines = [HEAD, FIRST, SECOND];
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 255 }), async (place, change) => {
      const content = Buffer.from(lines.join(''));
      const at = place % content.length;
      content[at] = (content[at] ?? 0) ^ change;
      const sha256 = createHash('sha256').update(content).digest('hex');
      const trailer = Buffer.from(TRAILER.replace(/"sha256":"[0-9a-f]+"/, `"sha256":"${sha256}"`));
      await expect(readSigned(Buffer.concat([content, trailer]))).rejects.toThrow(/backup/);
    }),
    { numRuns: runs(100) },
  );
});

test('the words of a file that an error quotes are few', async () => {
  const file = `${HEAD}${JSON.stringify({ failed: 'x'.repeat(100_000) })}\n`;
  const fault = await read(file).catch((error: unknown) => error as Error);
  expect((fault as Error).message.length).toBeLessThan(600);
});
