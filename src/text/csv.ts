/*
 * RFC 4180, for what is opened in a spreadsheet and may hold words that anybody has chosen. The package `csv-stringify`
 * passes a formula after blanks or an invisible character, and keeps controls, so that those rules would stay here;
 * what it would take over is the quoting. Its 81 kB would go to the browser with it.
 */

/** One row without its end, which is `\r\n`. Every field is quoted. */
export const csvRow = (fields: readonly (string | number)[]): string => fields.map(csvField).join(',');

/** Matches a text that a spreadsheet takes for a formula, in full width too, also after blanks. */
const FORMULA = /^[\s\p{C}]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;
/** Matches controls: those of ASCII and Latin 1, ends of lines, and what turns the direction of a line. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * A name may be anybody's choice and is opened in a spreadsheet, whichever way that splits fields: control characters
 * are left out, and an apostrophe before a formula keeps it a text. A number is no formula, whatever its sign.
 */
function csvField(value: string | number): string {
  if (typeof value === 'number') return `"${value}"`;
  const plain = value.replaceAll(CONTROLS, '');
  return `"${(FORMULA.test(plain) ? `'${plain}` : plain).replaceAll('"', '""')}"`;
}
