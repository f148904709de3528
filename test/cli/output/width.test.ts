import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutTo, padTo, widthOf } from '../../../src/cli/output/width.ts';
import { runs } from '../../support/run/effort.ts';

test.each([
  ['', 0, 'nothing'],
  ['plain', 5, 'ASCII'],
  ['Zoë', 3, 'a letter with its mark in one'],
  ['Zoe\u0308', 3, 'a mark over the letter before'],
  ['中文', 4, 'wide characters'],
  ['ＡＢ', 4, 'full width'],
  ['ｱｲ', 2, 'half width is narrow'],
  ['ｶﾞ', 2, 'a mark of half width has a column of its own'],
  ['\u304b\u3099', 2, 'and over a letter of full width none'],
  ['한국', 4, 'Hangul'],
  ['\u1112\u1161\u11ab', 2, 'the letters of one syllable of it'],
  ['\ud55c\u20dd', 2, 'a syllable in a circle'],
  ['हिन्दी', 5, 'Devanagari: signs of vowels that stand beside their letter, and a conjunct of two'],
  ['क्ष', 2, 'a conjunct has the columns of its letters'],
  ['தமிழ்', 4, 'Tamil: a sign of a vowel beside its letter, and a mark over one'],
  ['கொ', 2, 'a sign of a vowel on both sides of its letter'],
  ['ไทย', 3, 'Thai'],
  ['กำ', 2, 'a vowel of Thai beside its letter'],
  ['e\u0301\u0323\u0308', 1, 'three marks over and under one letter'],
  ['👨‍👩‍👧‍👦', 2, 'a family'],
  ['👍🏽', 2, 'a colour of skin'],
  ['1️⃣', 2, 'a key'],
  ['👩‍🚀', 2, 'emoji that are joined to one'],
  ['🇫🇷', 2, 'a flag'],
  ['❤️', 2, 'a sign that a selector makes an emoji'],
  ['❤', 1, 'the same sign without it'],
  ['\u200d', 0, 'a joiner alone'],
])('%j takes %i columns (%s)', (text, columns) => {
  expect(widthOf(text)).toBe(columns);
});

test.each([
  ['plain', 5, 'plain', 'what fits stays'],
  ['plain', 4, 'pla…', 'one column too many'],
  ['plain', 1, '…', 'the least'],
  ['中文字', 6, '中文字', 'wide characters that fit'],
  ['中文字', 5, '中文…', 'the mark takes the last column'],
  ['中文字', 4, '中…', 'no half of a character, though a column is left'],
  ['a👩‍🚀b', 3, 'a…', 'joined emoji are not torn apart'],
])('%j in %i columns is %j (%s)', (text, columns, cut) => {
  expect(cutTo(text, columns)).toBe(cut);
});

test('a cut text never takes more than its columns, and a filled one exactly as many', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', ' ', 'ë', 'e\u0308', '中', '👩‍🚀', '🇫🇷', 'Ａ', 'ｶﾞ', '한', 'हि', 'கொ', '…'),
  });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 30 }), (text, columns) => {
      const cut = cutTo(text, columns);
      expect(widthOf(cut)).toBeLessThanOrEqual(columns);
      expect(cut === text || cut.endsWith('…')).toBe(true);
      if (widthOf(text) <= columns) expect(cut).toBe(text);
      for (const side of ['left', 'right'] as const) expect(widthOf(padTo(cut, columns, side))).toBe(columns);
    }),
    { numRuns: runs(300) },
  );
});
