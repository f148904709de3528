import { dictionary } from '@zxcvbn-ts/language-common';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { judgePassword } from '../../../src/domain/passwords/password-judge.ts';
import { comparablePassword, lengthFault } from '../../../src/domain/passwords/password-rules.ts';
import { guessFault } from '../../../src/domain/passwords/password-strength.ts';
import { sourceTree } from '../../support/repository/source-tree.ts';

const ABOUT = { login: 'ann.miller@example.com', name: 'Ann Miller' };
const fault = (password: string): string | undefined => lengthFault(password) ?? guessFault(password, ABOUT);

describe('a password', () => {
  test.each([
    ['otter lamp quietly folds maps', 'a phrase of several words'],
    ['correct horse battery staple', 'words with blanks between them'],
    ['kX9$mQ2vL7pz', 'twelve characters by chance'],
    ['dragon monkey tiger lion', 'four common words are a phrase'],
    ['кошка сидит на окне', 'words of another alphabet'],
    ['ann likes her blue kettle', 'a name among other words'],
    ['zu viel Text über Ems', 'letters with marks'],
    ['constructor __proto__ of a chair', 'words that an object of JavaScript has by itself'],
    [`otter ${'lamp quietly '.repeat(39)}`.slice(0, LIMITS.passwordCharactersMax), 'as long as may be'],
    [`${'a'.repeat(LIMITS.passwordCharactersJudged - 12)}kX9$mQ2vL7pz`, 'chance within the characters that are judged'],
  ])('%.40s is taken (%s)', (password) => {
    expect(fault(password)).toBeUndefined();
  });

  test.each([
    ['kX9$mQ2vL7p', /at least 12 characters/, 'one character short'],
    ['💡💡🔑🔑🚪🚪🪟🪟🧱🧱🪜', /at least 12 characters/, 'code points are counted, and not halves of them'],
    ['otter lamp quietly '.repeat(40), /at most 512 characters/, 'too long'],
    ['aaaaaaaaaaaa', /easy to guess/, 'one character'],
    ['abcabcabcabc', /easy to guess/, 'one piece over and over'],
    ['kX9$mQ2kX9$mQ2', /easy to guess/, 'the same twice'],
    ['abababababbaba', /easy to guess/, 'two characters alone'],
    ['123456789012', /easy to guess/, 'the digits in their order'],
    ['210987654321', /easy to guess/, 'and backwards'],
    ['qwertyuiopas', /easy to guess/, 'a row of the keyboard'],
    ['1qaz2wsx3edc', /easy to guess/, 'columns of the keyboard'],
    ['q1w2e3r4t5y6', /easy to guess/, 'two rows in turn'],
    ['112233445566', /easy to guess/, 'digits alone'],
    ['password1234', /easy to guess/, 'a word and digits'],
    ['Passw0rd2026!', /easy to guess/, 'the same in disguise'],
    ['ｐａｓｓｗｏｒｄ１２３４', /easy to guess/, 'the same in the wide forms of Unicode'],
    ['justinbieber', /easy to guess/, 'a name that many choose'],
    ['fuckyou12345', /easy to guess/, 'a curse and digits'],
    ['manchester1!', /easy to guess/, 'a town with ornaments'],
    ['mustermuster26', /easy to guess/, 'the name of the product'],
    ['ann.miller@example.com', /your own name/, 'the login'],
    ['AnnMiller2026', /your own name/, 'the name and a year'],
    ['Ann.M1ll3r26', /your own name/, 'the same in disguise'],
    [`${'a'.repeat(LIMITS.passwordCharactersJudged)}kX9$mQ2vL7pz`, /easy to guess/, 'chance behind what is judged'],
  ])('%s is refused: %s (%s)', (password, sentence) => {
    expect(fault(password)).toMatch(sentence);
  });

  test('none that is in the list of common ones is taken', () => {
    const common = dictionary['passwords-common'].filter((password) => lengthFault(password) === undefined);
    expect(common.length).toBeGreaterThan(300);
    expect(common.filter((password) => fault(password) === undefined)).toEqual([]);
  });

  test('a refusal is a sentence that says what to choose, and does not repeat the password', () => {
    for (const password of ['short', 'password1234', 'AnnMiller2026', 'aaaaaaaaaaaa']) {
      expect(fault(password)).toMatch(/^password .+ words .+\.$/);
      expect(fault(password)).not.toContain(password);
    }
  });

  test('what looks alike is one password: it is compared in the compatibility form', () => {
    expect(comparablePassword('ﬁne ｗｉｄｅ')).toBe('fine wide');
  });
});

describe('the thread that judges', () => {
  test('says what the rules say', async () => {
    for (const password of ['short', 'justinbieber', 'AnnMiller2026', 'otter lamp quietly folds maps']) {
      expect(await judgePassword(password, ABOUT)).toEqual({ fault: fault(password) });
    }
  });

  test('alone loads the lists: no other file of the service does', () => {
    const LISTS = 'domain/passwords/password-strength.ts';
    const users = sourceTree().filter(({ imports }) => imports.includes(LISTS));
    expect(users.map(({ path }) => path)).toEqual(['domain/passwords/strength-thread.ts']);
    const starters = sourceTree().filter(({ imports }) => imports.includes('domain/passwords/strength-thread.ts'));
    expect(starters).toEqual([]);
  });
});
