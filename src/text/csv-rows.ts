import { CsvError, parse } from 'csv-parse/sync';

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
const linesIn = (text: string): number => text.match(LINE_ENDS)?.length ?? 0;

/**
 * Reads the rows of a text, whether lines end with CR LF, LF or CR; blank lines are left out.
 * @throws BadCsv, once the rows before that place were handed over
 */
export function* csvRows(text: string): Generator<CsvRow, void> {
  const bytes = Buffer.from(text);
  const rows: CsvRow[] = [];
  let [end, line] = [0, 1];
  // The package counts CR LF between quotation marks as two lines.
  const begun = (raw: string): number => line + linesIn(/^[\r\n]*/.exec(raw)?.[0] ?? '');
  try {
    parse(bytes, {
      relax_column_count: true,
      skip_empty_lines: true,
      record_delimiter: ['\r\n', '\n', '\r'],
      on_record: (fields: string[], info) => {
        const raw = bytes.toString('utf8', end, info.bytes);
        if (raw.trim() !== '') rows.push({ line: begun(raw), fields });
        end = info.bytes;
        line += linesIn(raw);
        return null;
      },
    });
  } catch (error) {
    yield* rows;
    throw error instanceof CsvError ? new BadCsv(begun(bytes.toString('utf8', end))) : error;
  }
  yield* rows;
}
