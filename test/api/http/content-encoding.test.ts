import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { encodingOf, inflate, INFLATING_MAX } from '../../../src/api/http/content-encoding.ts';
import { Busy } from '../../../src/domain/refusal.ts';
import { costlyDeflate } from '../../support/http/costly-deflate.ts';
import { countedTurns } from '../../support/time/event-loop-turns.ts';

const MAX = 65_536;
const text = gzipSync('{}');

describe('H7: inflating', () => {
  test.each([
    ['the costliest 64 KiB, which inflate to nothing', costlyDeflate(MAX), 'deflate', 0],
    ['a small body', text, 'gzip', 2],
    ['a body of 64 KiB', gzipSync(Buffer.alloc(MAX)), 'gzip', MAX],
  ] as const)('the event loop turns meanwhile: %s', async (_what, raw, encoding, bytes) => {
    expect(raw.length).toBeLessThanOrEqual(MAX);
    const turns = countedTurns();
    const inflated = await inflate(raw, encoding, MAX);
    turns.end();
    expect((inflated as Buffer).length).toBe(bytes);
    expect(turns.count()).toBeGreaterThan(0);
  });

  test('one body at a time, in the order in which they came', async () => {
    const ended: string[] = [];
    const note = (what: string) => () => void ended.push(what);
    const costly = costlyDeflate(MAX);
    await Promise.all([
      inflate(costly, 'deflate', MAX).then(note('first')),
      inflate(text, 'gzip', MAX).then(note('second')),
      inflate(Buffer.from('{}'), 'gzip', MAX).then(note('corrupt')),
      inflate(text, 'gzip', 1).then(note('too large')),
    ]);
    expect(ended).toEqual(['first', 'second', 'corrupt', 'too large']);
  });

  test(`${INFLATING_MAX} bodies may wait, and one more is given up`, async () => {
    const waiting = Array.from({ length: INFLATING_MAX }, () => inflate(text, 'gzip', MAX));
    await expect(inflate(text, 'gzip', MAX)).rejects.toThrow(Busy);
    expect((await Promise.all(waiting)).every((body) => Buffer.isBuffer(body))).toBe(true);
    expect(await inflate(text, 'gzip', MAX)).toEqual(Buffer.from('{}'));
  });

  test.each([
    [undefined, 'identity'],
    ['', 'identity'],
    [' GZip ', 'gzip'],
    ['x-gzip', 'gzip'],
    ['deflate', 'deflate'],
    ['br', undefined],
    ['zstd', undefined],
    ['gzip, gzip', undefined],
  ])('Content-Encoding: %s names %s', (header, encoding) => {
    expect(encodingOf(header)).toBe(encoding);
  });
});
