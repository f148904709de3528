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
    const inflated = await inflate(raw, encoding, { bytesMax: MAX, principal: 'one' });
    turns.end();
    expect((inflated as Buffer).length).toBe(bytes);
    expect(turns.count()).toBeGreaterThan(0);
  });

  test('one body at a time, and each account in its turn', async () => {
    const ended: string[] = [];
    const note = (what: string) => () => void ended.push(what);
    const costly = costlyDeflate(MAX);
    const greedy = ['first', 'second', 'third'].map((what) =>
      inflate(costly, 'deflate', { bytesMax: MAX, principal: 'greedy' }).then(note(what)),
    );
    await Promise.all([
      ...greedy,
      inflate(text, 'gzip', { bytesMax: MAX, principal: 'other' }).then(note('another one')),
      inflate(Buffer.from('{}'), 'gzip', { bytesMax: MAX, principal: 'third' }).then(note('corrupt')),
      inflate(text, 'gzip', { bytesMax: 1, principal: 'other' }).then(note('too large')),
    ]);
    expect(ended).toEqual(['first', 'second', 'another one', 'corrupt', 'third', 'too large']);
  });

  test(`${INFLATING_MAX} bodies of an account may wait, and one more is given up`, async () => {
    const of = (principal: string) => inflate(text, 'gzip', { bytesMax: MAX, principal });
    // The first of them is being inflated.
    const waiting = Array.from({ length: 1 + INFLATING_MAX }, () => of('one'));
    await expect(of('one')).rejects.toThrow(Busy);
    expect(await of('another one')).toEqual(Buffer.from('{}'));
    expect((await Promise.all(waiting)).every((body) => Buffer.isBuffer(body))).toBe(true);
    expect(await of('one')).toEqual(Buffer.from('{}'));
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
