/* RFC 4180, for what is opened in a spreadsheet and may hold words that anybody has chosen. */

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

/** A row with the number of the line on which it begins; the first is 1. */
export interface CsvRow {
  readonly line: number;
  readonly fields: readonly string[];
}

/** A text that is no CSV from this line on. */
export class BadCsv extends Error {
  override readonly name = 'BadCsv';
  readonly line: number;
  readonly rule = 'a quotation mark is in a wrong place';

  constructor(line: number) {
    super();
    this.line = line;
    this.message = `line ${line}: ${this.rule}`;
  }
}

/** The ends of lines, as systems of any age write them. */
export const LINE_END = /\r\n|\r|\n/;
const LINE_ENDS = new RegExp(LINE_END, 'g');

/**
 * Reads the rows of a text, whether lines end with CR LF, LF or CR; blank lines are left out.
 * @throws BadCsv, once the rows before that place were handed over
 */
export function* csvRows(text: string): Generator<CsvRow, void> {
  for (let [at, line] = [0, 1]; at < text.length; line += 1) {
    const [begun, from] = [line, at];
    const fields: string[] = [];
    for (let isMore = true; isMore; at += isMore ? 1 : 0) {
      const field = text[at] === '"' ? quotedField(text, at, line) : plainField(text, at, line);
      fields.push(field.value);
      at = field.end;
      line += field.value.match(LINE_ENDS)?.length ?? 0;
      isMore = text[at] === ',';
    }
    const isBlank = text.slice(from, at).trim() === '';
    if (text.startsWith('\r\n', at)) at += 2;
    else if (text[at] === '\n' || text[at] === '\r') at += 1;
    else if (at < text.length) throw new BadCsv(line);
    if (!isBlank) yield { line: begun, fields };
  }
}

interface Field {
  readonly value: string;
  /** The place behind it. */
  readonly end: number;
}

function quotedField(text: string, from: number, line: number): Field {
  let value = '';
  for (let at = from + 1; ;) {
    const mark = text.indexOf('"', at);
    if (mark === -1) throw new BadCsv(line);
    value += text.slice(at, mark);
    if (text[mark + 1] !== '"') return { value, end: mark + 1 };
    value += '"';
    at = mark + 2;
  }
}

function plainField(text: string, from: number, line: number): Field {
  const end = /[,\r\n]|$/g;
  end.lastIndex = from;
  const value = text.slice(from, end.exec(text)?.index);
  if (value.includes('"')) throw new BadCsv(line);
  return { value, end: from + value.length };
}
