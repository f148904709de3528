import { hasUnseen } from './names.ts';

/*
 * Names to sign in with are compared by the profile UsernameCaseMapped of PRECIS (RFC 8265, 3.3; RFC 8264): width, case
 * and composition make no difference. The parts of a name, such as those of an address of e-mail, are judged each for
 * itself.
 */

/** RFC 8264, 9.6, 9.10 and 9.11, beside the letters and digits of 9.1: what is allowed and refused by name. */
const ALLOWED = /^[\u00df\u03c2\u06fd\u06fe\u0f0b\u3007]$/u;
const REFUSED = /^(?:\u0640|\u07fa|\u302e|\u302f|[\u3031-\u3035\u303b])$/u;
const OLD_JAMO = /^[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]$/u;
const LETTER_OR_DIGIT = /^[\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}]$/u;
const ASCII = /^[\x21-\x7e]$/;
/** Allowed beside certain others (RFC 5892, Appendix A.3 to A.9). */
const IN_CONTEXT = /^[\u00b7\u0375\u05f3\u05f4\u30fb\u0660-\u0669\u06f0-\u06f9\u200c\u200d]$/u;

function isOfIdentifier(character: string): boolean {
  if (ALLOWED.test(character) || ASCII.test(character) || IN_CONTEXT.test(character)) return true;
  if (REFUSED.test(character) || OLD_JAMO.test(character) || !LETTER_OR_DIGIT.test(character)) return false;
  // HasCompat (9.17): it is another character, written otherwise.
  return character.normalize('NFKC') === character;
}

function fitsContext(part: string): boolean {
  if (/(?<!l)\u00b7|\u00b7(?!l)/u.test(part)) return false;
  if (/\u0375(?!\p{Script=Greek})/u.test(part) || /(?<!\p{Script=Hebrew})[\u05f3\u05f4]/u.test(part)) return false;
  if (part.includes('\u30fb') && !/[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u.test(part)) return false;
  return !(/[\u0660-\u0669]/.test(part) && /[\u06f0-\u06f9]/.test(part));
}

/**
 * Text that is written from right to left: the blocks that Unicode sets aside for it (DerivedBidiClass.txt), but for
 * their marks, their Arabic digits (class AN) and the others that are no letters of that direction (EN).
 */
const BLOCKS = '\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}';
const RIGHT = `(?:(?![\\p{M}\\u0660-\\u0669\\u06f0-\\u06f9\\u{10d30}-\\u{10d39}\\u{10e60}-\\u{10e7e}])[${BLOCKS}])`;
const ARABIC_DIGIT = '[\\u0660-\\u0669]';
const DIGIT = '[0-9\\u06f0-\\u06f9]';
const MARK = '\\p{Mn}';
const HAS_RIGHT = new RegExp(`${RIGHT}|${ARABIC_DIGIT}`, 'u');
const BEGINS_RIGHT = new RegExp(`^${RIGHT}`, 'u');
const LEFT = new RegExp(`(?!${RIGHT}|${ARABIC_DIGIT}|${DIGIT})[\\p{L}\\p{Mc}\\p{Nd}]`, 'u');
const ENDS_RIGHT = new RegExp(`(?:${RIGHT}|${ARABIC_DIGIT}|${DIGIT})${MARK}*$`, 'u');

const [ARABIC_DIGITS, DIGITS] = [new RegExp(ARABIC_DIGIT, 'u'), new RegExp(DIGIT, 'u')];

/** Whether a text has letters that are written from right to left. */
export const hasRightToLeft = (text: string): boolean => HAS_RIGHT.test(text);

/** RFC 5893, 2: a part that has letters from right to left begins and ends with such, and has none of the others. */
function fitsDirection(part: string): boolean {
  if (!hasRightToLeft(part)) return true;
  if (!BEGINS_RIGHT.test(part) || LEFT.test(part) || !ENDS_RIGHT.test(part)) return false;
  return !(ARABIC_DIGITS.test(part) && DIGITS.test(part));
}

/** Half-width and full-width forms (RFC 8265, 3.3.2, 1). */
const WIDTHS = /[\u3000\uff01-\uffee]/gu;
const mapped = (text: string): string =>
  text
    .replaceAll(WIDTHS, (form) => form.normalize('NFKC'))
    .toLowerCase()
    .normalize('NFC');

/** As names to sign in with were compared before PRECIS: users of then are found by it. */
export const formerLogin = (login: string): string => login.normalize('NFKC').toLowerCase();

/** A name to sign in with, as it is compared (`mappedLogin`); one that PRECIS refuses is compared as it was before. */
export const comparableLogin = (login: string): string => mappedLogin(login) ?? formerLogin(login);

/** The form by which a name to sign in with is compared; undefined for a text that is no such name. */
export function mappedLogin(login: string): string | undefined {
  const once = mapped(login.trim());
  // RFC 8264, 7: what is not stable is none.
  if (once === '' || mapped(once) !== once || hasUnseen(once)) return undefined;
  const parts = once.split(/[ @]/);
  const isSound = (part: string): boolean =>
    Array.from(part).every(isOfIdentifier) && fitsContext(part) && fitsDirection(part);
  return parts.every(isSound) ? once : undefined;
}
