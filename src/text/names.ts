import { joinersFit } from './joiners.ts';

/*
 * Names of people, accounts and keys, as people tell them apart by sight: no character that is not seen, or that turns
 * the direction of what follows. An app's name is the owner's own (A1), and is not judged here.
 */

/**
 * These are no part of a name: controls, formats (which include every override of direction), separators of lines,
 * private characters, halves of pairs, what a renderer ignores, and the empty braille pattern. The joiners are judged
 * apart.
 */
const UNSEEN =
  /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Whether a name has a character that is not seen, or a joiner where none may stand (RFC 5892, Appendix A). */
export const hasUnseen = (name: string): boolean => name.search(UNSEEN) >= 0 || !joinersFit(name);

/** A name of elsewhere without what is no part of a name, and without blanks around it; it may be empty. */
export function cleanedName(name: string): string {
  const seen = name.replaceAll(/\p{Zl}|\p{Zp}|[\t\n\v\f\r]/gu, ' ').replaceAll(UNSEEN, '');
  return (joinersFit(seen) ? seen : seen.replaceAll(/[\u200c\u200d]/gu, '')).trim();
}
