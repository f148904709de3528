/**
 * A text that others have chosen, such as an account's name or the words of a file, in a form that cannot move the
 * cursor, colour the terminal or turn the direction of a line: whatever is no visible character or space is written as
 * an escape, such as `\x1b` or `\u202e`. Output for programs is not changed by it.
 */
export const printable = (text: string): string => text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, escaped);

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code <= 0xff) return `\\x${digits.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, '0')}` : `\\u{${digits}}`;
}
