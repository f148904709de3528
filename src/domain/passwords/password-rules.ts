import { LIMITS } from '../limits.ts';

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
  run: 'password is a run of neighbouring characters; choose another one.',
  common: 'password is among those that are tried first; choose another one.',
  own: 'password is little more than your own name; choose another one.',
} as const;

/** @returns undefined where the password is acceptable, else a sentence that never repeats it */
export function passwordFault(password: string, about: About): string | undefined {
  const text = comparablePassword(password);
  const length = [...text].length;
  if (length < LIMITS.passwordCharactersMin) return FAULTS.short;
  if (password.length > LIMITS.passwordCharactersMax) return FAULTS.long;
  const plain = text.toLowerCase();
  if (isRepeated(plain)) return FAULTS.repeated;
  if (isRun(plain)) return FAULTS.run;
  const bare = withoutOrnaments(plain);
  if (isOwn(plain, bare, about)) return FAULTS.own;
  return isCommon(bare) ? FAULTS.common : undefined;
}

/** One piece of up to four characters over and over, such as `abcabcabcabc`. */
const isRepeated = (text: string): boolean => /^(.{1,4}?)\1+.{0,3}$/u.test(text) && new Set(text).size <= 4;

const RUNS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890123456789',
  'qwertyuiopasdfghjklzxcvbnm',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm',
];

/** Part of an alphabet, of the digits or of a keyboard, forwards or backwards, once or twice. */
function isRun(text: string): boolean {
  const rows = RUNS.flatMap((row) => [row, [...row].toReversed().join('')]);
  const isPart = (part: string): boolean => part.length >= 4 && rows.some((row) => row.includes(part));
  for (let cut = 0; cut <= text.length; cut += 1) {
    const [head, tail] = [text.slice(0, cut), text.slice(cut)];
    if ((head === '' || isPart(head)) && (tail === '' || isPart(tail))) return true;
  }
  return false;
}

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

/** Without the digits and signs around it, and with letters where some are written as digits. */
function withoutOrnaments(text: string): string {
  const letters = text.replaceAll(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
  return [...letters]
    .map((character) => LEET[character] ?? character)
    .join('')
    .replaceAll(/[^\p{L}]/gu, '');
}

function isOwn(plain: string, bare: string, { login, name }: About): boolean {
  const own = [login, login.split('@')[0] ?? '', name, ...name.split(/\s+/)].map((part) => part.toLowerCase());
  const isShort = (rest: string): boolean => [...rest].length < 6;
  return own.some((part) => {
    if ([...part].length < 3) return false;
    const letters = withoutOrnaments(part);
    return isShort(plain.replaceAll(part, '')) || (letters.length >= 3 && isShort(bare.replaceAll(letters, '')));
  });
}

/** Words that stand in most of the passwords that are found first, alone, doubled or with one another. */
const COMMON = [
  'password passwort passwd letmein letmeinn welcome willkommen admin administrator root superuser operator muster',
  'changeme changeit secret secrets geheim hello iloveyou loveyou princess sunshine dragon monkey football baseball',
  'basketball superman batman starwars pokemon master login guest user test testing tester default qwerty qwertyuiop',
  'azerty asdfgh asdfghjkl zxcvbn zxcvbnm trustno freedom whatever shadow michael jordan jennifer charlie access',
  'correcthorsebatterystaple correct horse battery staple abc def abcdef abcdefg summer winter spring autumn company',
  'server service cloud docker kubernetes postgres mysql oracle cisco ubuntu debian linux windows apple google',
  'january february march april may june july august september october november december monday friday',
  'my your the is this new old me and for you i love happy birthday computer internet keyboard security secure',
  'pass word pwd please enter open sesame opensesame temp temporary demo example sample',
].flatMap((line) => line.split(' '));
const COMMON_WORDS = new Set(COMMON);
const LONGEST = Math.max(...COMMON.map((word) => word.length));
/** So many of the common words together are still tried; more make a phrase. */
const WORDS_MAX = 3;

/** Whether the letters are one to three common words in a row. */
function isCommon(bare: string): boolean {
  const made = (rest: string, words: number): boolean => {
    if (rest === '') return true;
    if (words === WORDS_MAX) return false;
    for (let length = Math.min(LONGEST, rest.length); length > 0; length -= 1) {
      if (COMMON_WORDS.has(rest.slice(0, length)) && made(rest.slice(length), words + 1)) return true;
    }
    return false;
  };
  // Digits and signs alone have no letters.
  return bare.length < 3 || made(bare, 0);
}
