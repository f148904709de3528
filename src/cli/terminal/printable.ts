/**
 * A text that others have chosen, such as an account's name or the words of a file, in a form that cannot move the
 * cursor, colour the terminal or turn the direction of a line: whatever is no visible character or space is written as
 * an escape, such as `\x1b` or `\u202e`. A name that is isolated (U+2068, U+2069) stays so: it turns nothing beside it.
 * Output for programs is not changed by it.
 */
export const printable = (text: string): string =>
  text
    .split(/\u2068([^\u2066-\u2069]*)\u2069/u)
    .map((part) => part.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, escaped))
    .map((part, index) => (index % 2 === 1 ? `\u2068${part}\u2069` : part))
    .join('');

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code <= 0xff) return `\\x${digits.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, '0')}` : `\\u{${digits}}`;
}
