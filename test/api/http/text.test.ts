import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { textFault, type TextFault } from '../../../src/api/http/text.ts';
import { codePoint } from '../../support/http/code-points.ts';
import { runs } from '../../support/run/effort.ts';

const FOUR = { codePointsMax: 4 };

describe('A1: a text is measured in Unicode code points', () => {
  test.each<[string, TextFault | undefined, string]>([
    ['', undefined, 'the empty text is a text'],
    ['abcd', undefined, 'exactly at the bound'],
    ['abcde', 'too_long', 'one beyond it'],
    ['    ', undefined, 'spaces are not trimmed, and count'],
    ['     ', 'too_long', 'not even where only they are too many'],
    ['\u0000\n', undefined, 'control characters are characters'],
    ['😀😀😀😀', undefined, 'four code points of two code units each'],
    ['😀😀😀😀a', 'too_long', 'a fifth code point'],
    ['😀abc', undefined, 'five code units, four code points'],
    ['😀abcd', 'too_long', 'six code units, five code points'],
    ['e\u0301e\u0301', undefined, 'a combining accent is a code point of its own: four'],
    ['e\u0301e\u0301e', 'too_long', 'and a fifth, though a reader sees three letters'],
    ['👨‍👩‍👧', 'too_long', 'one picture of five code points'],
    ['\ufeffabc', undefined, 'a byte-order mark is a code point'],
    ['\uffff', undefined, 'a noncharacter is well-formed'],
    ['\ud800', 'lone_surrogate', 'a high surrogate alone'],
    ['\udc00', 'lone_surrogate', 'a low surrogate alone'],
    ['\ude00\ud83d', 'lone_surrogate', 'a pair in the wrong order'],
    ['a\ud83d', 'lone_surrogate', 'a pair cut in two at the end'],
    ['\ud83d😀', 'lone_surrogate', 'half a pair before a whole one'],
    ['\ud800\ud800\ud800\ud800', 'lone_surrogate', 'four lone surrogates are four code points'],
    ['\ud800\ud800\ud800\ud800\ud800', 'too_long', 'and five are too many'],
  ])('%j → %s (%s)', (value, fault) => {
    expect(textFault(value, FOUR)).toBe(fault);
  });
});

test('the count is that of the string iterator, for any text and any bound', () => {
  fc.assert(
    fc.property(fc.string({ unit: codePoint, maxLength: 12 }), fc.nat({ max: 12 }), (value, codePointsMax) => {
      const fault = Array.from(value).length > codePointsMax ? 'too_long' : undefined;
      expect(textFault(value, { codePointsMax })).toBe(fault);
    }),
    { seed: 1, numRuns: runs(100) },
  );
});

test('half a pair is found wherever it stands', () => {
  const text = fc.string({ unit: 'binary-ascii', maxLength: 20 });
  fc.assert(
    fc.property(text, fc.integer({ min: 0xd800, max: 0xdfff }), text, (before, surrogate, after) => {
      const value = before + String.fromCharCode(surrogate) + after;
      expect(textFault(value, { codePointsMax: 100 })).toBe('lone_surrogate');
    }),
    { seed: 1, numRuns: runs(100) },
  );
});
