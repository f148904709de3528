import { hasRightToLeft } from './logins.ts';
import { cleanedName } from './names.ts';

/* Names that somebody chose, an app's among them (A1), within texts of ours. */

const DIRECTIONS = /\p{Bidi_Control}/gu;

/**
 * A name that turns the direction of nothing beside it: isolated (UAX 9: U+2068, U+2069) where it has letters from
 * right to left, and without controls of direction of its own, which could end that.
 */
export function isolated(name: string): string {
  const plain = name.replaceAll(DIRECTIONS, '');
  return plain !== name || hasRightToLeft(plain) ? `\u2068${plain}\u2069` : name;
}

/** Whether nothing of a name would be seen. */
export const isBlank = (name: string): boolean => cleanedName(name) === '';

/** A name as a person finds it: isolated, and the id in place of one of which nothing would be seen. */
export const shownName = (name: string, id: string): string => (isBlank(name) ? id : isolated(name));
