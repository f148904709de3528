import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import { LIMITS } from '../limits.ts';
import { comparablePassword, PASSWORD_FAULTS, type About } from './password-rules.ts';

/*
 * How soon a password is guessed, by zxcvbn with its list of common passwords. This file is loaded where somebody
 * chooses a password: its lists take 20 MiB and 0.1 s of processor time.
 */

/** At least 10^8 guesses. */
const SCORE_MIN = 3;
/** The product's name is at hand here, as the user's own is. */
const PRODUCT = 'muster';
const OWN_WORD_MIN = 3;

const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs, maxLength: LIMITS.passwordCharactersJudged });

/** @returns undefined where the password is not guessed soon, else a sentence that never repeats it */
export function guessFault(password: string, about: About): string | undefined {
  const { score, sequence } = zxcvbn.check(comparablePassword(password), [...ownWords(about), PRODUCT]);
  if (score >= SCORE_MIN) return undefined;
  const isOwn = sequence.some((part) => part['dictionaryName'] === 'userInputs' && part['matchedWord'] !== PRODUCT);
  return isOwn ? PASSWORD_FAULTS.own : PASSWORD_FAULTS.guessable;
}

/**
 * A login and a name, whole, in their words, and with these together, where they are long enough to be told from
 * chance.
 */
function ownWords({ login, name }: About): readonly string[] {
  const [local = ''] = login.split('@');
  const words = [login, name, local].flatMap((text) => {
    const parts = comparablePassword(text)
      .toLowerCase()
      .split(/[^\p{L}\p{N}]+/u);
    return [text, parts.join(''), ...parts];
  });
  return [...new Set(words)].filter((word) => Array.from(word).length >= OWN_WORD_MIN);
}
