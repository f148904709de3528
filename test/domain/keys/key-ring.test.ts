import { describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { newKeyFile, parseKeyRing } from '../../../src/domain/keys/key-ring.ts';

const key = (fill: number, bytes = 32): string => Buffer.alloc(bytes, fill).toString('base64');

describe('a key file', () => {
  test.each<[string, readonly number[], string]>([
    [`1:${key(1)}\n`, [1], 'one numbered key'],
    [key(1), [1], 'a lone base64 line is key 1'],
    [`2:${key(2)}\n1:${key(1)}\n`, [1, 2], 'in any order'],
    [`10:${key(2)}\n9:${key(1)}\n`, [9, 10], 'numbers, not texts'],
    [`# the old one\n1:${key(1)}\n\n# the new one\n7:${key(7)}\n`, [1, 7], 'comments, blank lines and gaps'],
    [`1:${key(1)}\r\n2:${key(2)}\r\n`, [1, 2], 'line ends of Windows'],
    [`  1:${key(1)}  `, [1], 'spaces around it'],
  ])('%#: %3$s', (text, numbers) => {
    const ring = parseKeyRing(text);
    expect(ring.numbers).toEqual(numbers);
    expect(ring.newest).toBe(numbers.at(-1));
    for (const number of numbers) expect(ring.key(number)).toHaveLength(32);
    expect(ring.key(ring.newest + 1)).toBeUndefined();
  });

  test('the greatest number is the newest, wherever it stands', () => {
    const ring = parseKeyRing(`3:${key(3)}\n12:${key(12)}\n4:${key(4)}\n`);
    expect(ring.newest).toBe(12);
    expect(ring.key(ring.newest)).toEqual(Buffer.alloc(32, 12));
  });

  test.each<[string, RegExp, string]>([
    ['', /no key/, 'an empty file'],
    ['# 1:later\n\n', /no key/, 'comments only'],
    [`1:${key(1, 31)}`, /line 1: expected/, '31 bytes'],
    [`1:${key(1, 33)}`, /line 1: expected/, '33 bytes'],
    [`1:${key(1)}\n2:${key(2).slice(0, -1)}`, /line 2: expected/, 'a key without its padding'],
    [`0:${key(1)}`, /numbered from 1/, 'the number 0'],
    [`-1:${key(1)}`, /line 1: expected/, 'a negative number'],
    [`1:${key(1)}\n1:${key(2)}`, /line 2: key 1 stands twice/, 'a number twice'],
    [`${key(1)}\n1:${key(2)}`, /line 2: key 1 stands twice/, 'a lone line is number 1 too'],
    [
      Array.from({ length: 101 }, (_, i) => `${i + 1}:${key(1)}`).join('\n'),
      /more than 100/,
      'more keys than anybody has',
    ],
    ['the password is hunter2', /line 1: expected/, 'something else'],
  ])('%#: is refused: %3$s', (text, words) => {
    expect(() => parseKeyRing(text)).toThrow(words);
  });

  test('the refusal never repeats the line', () => {
    const secret = 'c2VjcmV0LXRoYXQtbXVzdC1ub3QtYmUtc2hvd24';
    for (const text of [secret, `1:${secret}`, `x:${key(5)}`]) {
      expect(() => parseKeyRing(text)).toThrow(
        expect.not.objectContaining({ message: expect.stringContaining(text.slice(2, 20)) as string }),
      );
    }
  });

  test('a new one has one key, each time another', () => {
    const [one, other] = [newKeyFile(systemRandom()), newKeyFile(systemRandom())];
    expect(parseKeyRing(one).numbers).toEqual([1]);
    expect(one).not.toBe(other);
  });
});
