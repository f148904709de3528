import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasRightToLeft, mappedLogin } from '../../src/text/logins.ts';

/* UsernameCaseMapped (RFC 8265, 3.3) and the classes of RFC 8264, by examples of the RFCs and by properties. */

test.each<[login: string, mapped: string, why: string]>([
  ['Ann@Example.com', 'ann@example.com', 'an address of e-mail'],
  ['juliet', 'juliet', 'RFC 8265, 3.5'],
  ['fußball', 'fußball', 'RFC 8265, 3.5: no ss'],
  ['π', 'π', 'RFC 8265, 3.5'],
  ['Σ', 'σ', 'RFC 8265, 3.5'],
  ['ΟΔΟΣ', 'οδος', 'a sigma at the end'],
  ['ＡＮＮ＠ｘ', 'ann@x', 'full-width forms'],
  ['ｶﾞ', 'ガ', 'half-width forms, composed'],
  ['e\u0301va', 'éva', 'composition'],
  ['H\u0331', '\u1e96', 'composed once it is in lower case'],
  [' ann ', 'ann', 'blanks around it'],
  ['ann lee', 'ann lee', 'two parts'],
  ['דנה@example.com', 'דנה@example.com', 'parts of either direction'],
  ['שרה1', 'שרה1', 'a digit at the end of a part from right to left'],
  ['l·l', 'l·l', 'RFC 5892, A.3'],
  ['日本・語', '日本・語', 'RFC 5892, A.7'],
  ['क्\u200dष', 'क्\u200dष', 'RFC 5892, A.2: behind a virama'],
  ['نامه\u200cای', 'نامه\u200cای', 'RFC 5892, A.1: between letters that join'],
])('%s is compared as %s: %s', (login, mapped) => {
  expect(mappedLogin(login)).toBe(mapped);
});

test.each<[login: string, why: string]>([
  ['', 'no character'],
  [' ', 'blanks alone'],
  ['ann\u00adlee', 'a soft hyphen'],
  ['a\u200bb', 'a space without width'],
  ['a\u202eb', 'an override of direction'],
  ['a\u200cb', 'a joiner between letters that join nothing'],
  ['a\u200db', 'a joiner behind no virama'],
  ['henryⅣ', 'RFC 8265, 3.5: a compatibility form'],
  ['ﬁn', 'a ligature'],
  ['♚', 'RFC 8265, 3.5: a symbol'],
  ['a·b', 'a middle dot elsewhere than between two l'],
  ['דנהa', 'both directions in one part'],
  ['1דנה', 'a digit first, in a part from right to left'],
  ['دن١۱', 'digits of two kinds'],
  ['a\u0000', 'a control character'],
  ['\u1100', 'old Hangul'],
])('%j is no name to sign in with: %s', (login) => {
  expect(mappedLogin(login)).toBeUndefined();
});

describe('whatever the text is', () => {
  const text = fc.string({ unit: 'binary', maxLength: 12 });

  test('its mapped form is mapped to itself, and has neither other widths nor other cases', () => {
    fc.assert(
      fc.property(text, (login) => {
        const mapped = mappedLogin(login);
        if (mapped === undefined) return;
        expect(mappedLogin(mapped)).toBe(mapped);
        expect([mapped.toLowerCase(), mapped.normalize('NFC'), mapped.trim()]).toEqual([mapped, mapped, mapped]);
        // The class of identifiers has no compatibility forms, so that NFKC changes nothing more.
        expect(mapped.normalize('NFKC')).toBe(mapped);
        expect(mapped).not.toMatch(/[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u);
      }),
      { numRuns: 3000 },
    );
  });

  test('upper case, blanks around it and another composition make no other name of it', () => {
    // Of these each letter in upper case has one in lower case, and back.
    const letters = fc.string({ unit: fc.constantFrom('a', 'é', 'ö', 'ж', 'é', '7', '.', 'α'), minLength: 1 });
    fc.assert(
      fc.property(letters, (login) => {
        const mapped = mappedLogin(login);
        expect(mapped).toBeDefined();
        for (const other of [login.toUpperCase(), ` ${login}\t`, login.normalize('NFD')]) {
          expect(mappedLogin(other)).toBe(mapped);
        }
      }),
    );
  });

  test('a name of printable ASCII is compared as it always was', () => {
    const ascii = fc.string({ unit: 'grapheme-ascii', minLength: 1 }).filter((login) => login.trim() === login);
    fc.assert(
      fc.property(ascii, (login) => {
        expect(mappedLogin(login)).toBe(login.normalize('NFKC').toLowerCase());
      }),
    );
  });

  test('letters from right to left are told apart from others', () => {
    expect(['א', 'ب', 'ܐ', 'ߊ', '١'].map(hasRightToLeft)).toEqual([true, true, true, true, true]);
    expect(['a', 'ж', '日', '1', '-', '\u0301'].map(hasRightToLeft)).toEqual(Array(6).fill(false));
  });
});
