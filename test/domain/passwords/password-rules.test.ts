import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { comparablePassword, passwordFault } from '../../../src/domain/passwords/password-rules.ts';

const ABOUT = { login: 'ann.miller@example.com', name: 'Ann Miller' };
const fault = (password: string): string | undefined => passwordFault(password, ABOUT);

describe('a password', () => {
  test.each([
    ['otter lamp quietly folds maps', 'a phrase of several words'],
    ['correct horse battery staple', 'words with blanks between them'],
    ['kX9$mQ2vL7pz', 'twelve characters by chance'],
    ['dragon monkey tiger lion', 'four common words are a phrase'],
    ['кошка сидит на окне', 'words of another alphabet'],
    ['ann likes her blue kettle', 'a name among other words'],
    ['zu viel Text über Ems', 'letters with marks'],
    [`otter ${'lamp quietly '.repeat(39)}`.slice(0, LIMITS.passwordCharactersMax), 'as long as may be'],
  ])('%.40s is taken (%s)', (password) => {
    expect(fault(password)).toBeUndefined();
  });

  test.each([
    ['kX9$mQ2vL7p', /at least 12 characters/, 'one character short'],
    ['💡💡🔑🔑🚪🚪🪟🪟🧱🧱🪜', /at least 12 characters/, 'code points are counted, and not halves of them'],
    ['otter lamp quietly '.repeat(40), /at most 512 characters/, 'too long'],
    ['aaaaaaaaaaaa', /repeats itself/, 'one character'],
    ['abcabcabcabc', /repeats itself/, 'one piece over and over'],
    ['kX9$mQ2kX9$mQ2', /repeats itself/, 'the same twice'],
    ['abababababbaba', /repeats itself/, 'two characters alone'],
    ['123456789012', /tried first/, 'the digits in their order'],
    ['210987654321', /tried first/, 'and backwards'],
    ['qwertyuiopas', /tried first/, 'a row of the keyboard'],
    ['1qaz2wsx3edc', /tried first/, 'columns of the keyboard'],
    ['q1w2e3r4t5y6', /tried first/, 'two rows in turn'],
    ['112233445566', /tried first/, 'digits alone'],
    ['password1234', /tried first/, 'a word and digits'],
    ['Passw0rd2026!', /tried first/, 'the same in disguise'],
    ['ｐａｓｓｗｏｒｄ１２３４', /tried first/, 'the same in the wide forms of Unicode'],
    ['!!!iloveyou!!!', /tried first/, 'a common sentence with ornaments'],
    ['mustermuster26', /tried first/, 'the name of the product'],
    ['ann.miller@example.com', /your own name/, 'the login'],
    ['AnnMiller2026', /your own name/, 'the name and a year'],
  ])('%s is refused: %s (%s)', (password, sentence) => {
    expect(fault(password)).toMatch(sentence);
  });

  test('a refusal is a sentence that does not repeat the password', () => {
    for (const password of ['short', 'password1234', 'AnnMiller2026', 'aaaaaaaaaaaa']) {
      expect(fault(password)).toMatch(/^password .+\.$/);
      expect(fault(password)).not.toContain(password);
    }
  });

  test('what looks alike is one password: it is compared in the compatibility form', () => {
    expect(comparablePassword('ﬁne ｗｉｄｅ')).toBe('fine wide');
  });
});
