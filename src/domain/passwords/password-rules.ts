import { LIMITS } from '../limits.ts';

/*
 * Which passwords are refused (NIST SP 800-63B, 5.1.1.2): those that are short, and those that an attacker tries first.
 * No mix of kinds of characters is asked for. How soon one is guessed is judged in password-strength.ts, which is
 * loaded where somebody chooses a password. The pages of the panel judge with the same code.
 */

/** The form in which passwords are compared and hashed: what looks alike on two keyboards is one password. */
export const comparablePassword = (password: string): string => password.normalize('NFKC');

/** The words that a password must not consist of. */
export interface About {
  readonly login: string;
  readonly name: string;
}

/** Each says what to do, and never repeats the password. */
export const PASSWORD_FAULTS = {
  short: `password must have at least ${LIMITS.passwordCharactersMin} characters; a few words make a good one.`,
  long: `password must have at most ${LIMITS.passwordCharactersMax} characters.`,
  own: 'password is little more than your own name; choose four or more words that have nothing to do with you.',
  guessable: 'password is too easy to guess; choose four or more words that do not belong together.',
} as const;

/** @returns undefined where the length is acceptable, else a sentence */
export function lengthFault(password: string): string | undefined {
  if (password.length > LIMITS.passwordCharactersMax) return PASSWORD_FAULTS.long;
  const { length } = Array.from(comparablePassword(password));
  return length < LIMITS.passwordCharactersMin ? PASSWORD_FAULTS.short : undefined;
}
