/**
 * A text that others have chosen, such as an account's name or the words of a file, in a form that cannot move the
 * cursor, colour the terminal or turn the direction of a line: whatever is no visible character or space is written as
 * an escape, such as `\x1b` or `\u202e`. A name that is isolated (U+2068, U+2069) stays so: it turns nothing beside it.
 * Output for programs is not changed by it.
 */
export const printable = (text: string): string =>
  text.replaceAll(/\u2068([^\u2066-\u2069]*)\u2069|[\p{C}\p{Zl}\p{Zp}]/gu, (found, name?: string) =>
    name === undefined ? escaped(found) : `\u2068${name.replaceAll(UNPRINTABLE, escaped)}\u2069`,
  );

const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code <= 0xff) return `\\x${digits.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, '0')}` : `\\u{${digits}}`;
}
