import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinersFit } from '../../src/text/joiners.ts';
import { cleanedName, hasUnseen } from '../../src/text/names.ts';

test.each([
  'Ann Example',
  'Zoë O’Connor-Łuk',
  'דנה',
  'محمد',
  '山田 太郎',
  'क्षत्रिय',
  'क्\u200dष',
  'نامه\u200cای',
  '☃ team 7',
  '',
])('%j has nothing unseen', (name) => {
  expect([hasUnseen(name), cleanedName(name)]).toEqual([false, name]);
});

test.each<[name: string, cleaned: string, why: string]>([
  ['Ann\u202e', 'Ann', 'an override of direction'],
  ['\u2066Ann\u2069', 'Ann', 'an isolate'],
  ['A\u200fnn', 'Ann', 'a mark of direction'],
  ['A\u061cnn', 'Ann', 'an Arabic mark of direction'],
  ['A\u200bnn', 'Ann', 'a space without width'],
  ['\ufeffAnn', 'Ann', 'a byte order mark'],
  ['A\u00adnn', 'Ann', 'a soft hyphen'],
  ['A\u034fnn', 'Ann', 'a grapheme joiner'],
  ['Ann\u3164', 'Ann', 'a filler of Hangul'],
  ['\u2800', '', 'an empty braille pattern'],
  ['Ann\ufe0f', 'Ann', 'a variation selector'],
  ['Ann\u{e0041}', 'Ann', 'a tag'],
  ['A\u0000n\u007fn', 'Ann', 'controls'],
  ['A\u0085nn', 'Ann', 'a control of C1'],
  ['A\nnn', 'A nn', 'a line'],
  ['A\u2028nn', 'A nn', 'a separator of lines'],
  ['A\ue000nn', 'Ann', 'a private character'],
  ['A\ud800nn', 'Ann', 'half of a pair'],
  ['A\u200dnn', 'Ann', 'a joiner between letters that join nothing'],
  ['A\u200cnn', 'Ann', 'the other one'],
  ['\u200d', '', 'a joiner alone'],
])('%j is refused, and cleaned to %j: %s', (name, cleaned) => {
  expect([hasUnseen(name), cleanedName(name)]).toEqual([true, cleaned]);
});

test('whatever a name is, its cleaned form is seen, and is cleaned to itself', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      const cleaned = cleanedName(name);
      expect(hasUnseen(cleaned)).toBe(false);
      expect(cleanedName(cleaned)).toBe(cleaned);
      expect(cleaned).not.toMatch(/[\p{Bidi_Control}\p{Cc}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/u);
    }),
    { numRuns: 2000 },
  );
});

test('RFC 5892, A.1 and A.2: each joiner behind any virama, ZWNJ alone between letters that join', () => {
  // Devanagari, Bengali, Tamil, Sinhala, Myanmar, Khmer, Thai.
  for (const virama of '\u094d\u09cd\u0bcd\u0dca\u1039\u17d2\u0e3a') {
    expect([joinersFit(`x${virama}\u200d`), joinersFit(`x${virama}\u200cy`)]).toEqual([true, true]);
  }
  // Nukta is of class 7, the voiced mark of 8, hiriq of 14, an acute of 230, and a vowel sign of 0.
  for (const mark of '\u093c\u3099\u05b4\u0301\u093f') expect(joinersFit(`x${mark}\u200d`)).toBe(false);
  const fits = (before: string, after: string): boolean => joinersFit(`${before}\u200c${after}`);
  expect([fits('ب', 'ب'), fits('ب', 'ا'), fits('بّ', 'ب')]).toEqual([true, true, true]);
  // Alef does not join to what follows, hamza to nothing.
  expect([fits('ا', 'ب'), fits('ب', 'ء'), fits('ب', ''), fits('', 'ب')]).toEqual([false, false, false, false]);
  expect(joinersFit('ب\u200dب')).toBe(false);
});
