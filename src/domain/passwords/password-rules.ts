import { LIMITS } from '../limits.ts';
import { COMMON_WORDS, ROWS } from './common-parts.ts';

/*
 * Which passwords are refused (NIST SP 800-63B, 5.1.1.2): those that are short, and those that an attacker tries first.
 * No mix of kinds of characters is asked for. The pages of the panel judge with the same code.
 */

/** The form in which passwords are compared and hashed: what looks alike on two keyboards is one password. */
export const comparablePassword = (password: string): string => password.normalize('NFKC');

/** What a password must not consist of. */
export interface About {
  readonly login: string;
  readonly name: string;
}

const FAULTS = {
  short: `password must have at least ${LIMITS.passwordCharactersMin} characters; a few words make a good one.`,
  long: `password must have at most ${LIMITS.passwordCharactersMax} characters.`,
  repeated: 'password repeats itself; choose one that does not.',
  own: 'password is little more than your own name; choose another one.',
  common: 'password is among those that are tried first; choose another one.',
} as const;

/** A password of so few known parts and single characters together is tried soon; more parts make a phrase. */
const PARTS_MAX = 4;
/** A longer text is a phrase, whatever its parts are, and its parts would take long to find. */
const JUDGED_MAX = 64;

/** @returns undefined where the password is acceptable, else a sentence that never repeats it */
export function passwordFault(password: string, { login, name }: About): string | undefined {
  const text = comparablePassword(password).toLowerCase();
  const { length } = Array.from(text);
  if (length < LIMITS.passwordCharactersMin) return FAULTS.short;
  if (password.length > LIMITS.passwordCharactersMax) return FAULTS.long;
  if (isRepeated(text)) return FAULTS.repeated;
  if (length > JUDGED_MAX) return undefined;
  // Dates and the numbers of telephones.
  if (/^\p{N}+$/u.test(text)) return FAULTS.common;
  if (partsOf(text, COMMON_WORDS) <= PARTS_MAX) return FAULTS.common;
  return partsOf(text, [...COMMON_WORDS, ...ownWords(login, name)]) <= PARTS_MAX ? FAULTS.own : undefined;
}

/** The words of a login and a name that are long enough to be told from chance. */
function ownWords(login: string, name: string): readonly string[] {
  const words = [login, name, ...login.split(/[^\p{L}\p{N}]+/u), ...name.split(/\s+/)];
  return words.map((word) => comparablePassword(word).toLowerCase()).filter((word) => Array.from(word).length >= 3);
}

/** One piece over and over, such as `abcabcabcabc` or `passphrasepassphrase`; or hardly any character but a few. */
const isRepeated = (text: string): boolean => new Set(text).size <= 3 || /^(.+?)\1+$/su.test(text);

/** How a letter is often written with a digit or a sign. */
const LEET: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
};

const BOTH_WAYS = ROWS.flatMap((row) => [row, Array.from(row).toReversed().join('')]);
const ROW_PIECE_MIN = 3;
const SAME_MIN = 3;

/**
 * The least number of parts that make up the text: words, pieces of rows, runs of one character, years, and single
 * characters.
 */
function partsOf(text: string, words: readonly string[]): number {
  const characters = Array.from(text);
  /** By how many of the first characters are covered. */
  const fewest = Array.from({ length: characters.length + 1 }, () => Number.POSITIVE_INFINITY);
  fewest[0] = 0;
  for (const start of characters.keys()) {
    const parts = (fewest[start] ?? 0) + 1;
    for (const length of lengthsAt(characters, start, words)) {
      fewest[start + length] = Math.min(fewest[start + length] ?? 0, parts);
    }
  }
  return fewest[characters.length] ?? 0;
}

/** The lengths of the parts that begin at a place; shorter pieces of a run help as well, where a word follows. */
function* lengthsAt(characters: readonly string[], start: number, words: readonly string[]): Iterable<number> {
  yield 1;
  const rest = characters.slice(start);
  for (const word of words) if (beginsWith(rest, Array.from(word))) yield Array.from(word).length;
  const row = longestInRows(rest.join(''));
  for (let length = ROW_PIECE_MIN; length <= row; length += 1) yield length;
  const other = rest.findIndex((character) => character !== rest[0]);
  const same = other === -1 ? rest.length : other;
  for (let length = SAME_MIN; length <= same; length += 1) yield length;
  if (/^(?:19|20)\d\d/.test(rest.slice(0, 4).join(''))) yield 4;
}

const beginsWith = (rest: readonly string[], word: readonly string[]): boolean =>
  word.length <= rest.length &&
  word.every((letter, index) => letter === rest[index] || letter === LEET[rest[index] ?? '']);

function longestInRows(rest: string): number {
  let longest = 0;
  for (const row of BOTH_WAYS) {
    while (longest < rest.length && row.includes(rest.slice(0, longest + 1))) longest += 1;
  }
  return longest;
}
