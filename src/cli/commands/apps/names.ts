import { BadCsv, csvRows, type CsvRow } from '../../../text/csv.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import { inputOf } from '../../terminal/input.ts';

/** The apps of an account, and the idempotency records of one: no more can be made, and none beyond it resumed. */
export const NAMES_MAX = 1000;
const FILE_BYTES_MAX = 1_048_576;

/** `edge-001`, `edge-002` and so on: as wide as the greatest number, so that they sort. */
export const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}${String(at + 1).padStart(String(count).length, '0')}`);

/**
 * The names in a CSV with a column `name`, or else one a line. A table without that column is refused.
 * @param path `-` is stdin
 * @throws CommandFault with exit code 2
 */
export async function namesIn(path: string): Promise<readonly string[]> {
  const text = (await inputOf(path, FILE_BYTES_MAX)).replace(/^\uFEFF/, '');
  const what = path === '-' ? 'stdin' : path;
  const head = headOf(text);
  const names = head.includes('name') ? namesOfCsv(text, what, head.indexOf('name')) : namesOfLines(text, what);
  if (names.length >= 1 && names.length <= NAMES_MAX) return names;
  throw new CommandFault(`${what}: it must have 1 to ${NAMES_MAX} names, and has ${names.length}`, EXIT.usage);
}

/** The fields of the first line in small letters, as spreadsheets have them in any; none where it is no CSV. */
function headOf(text: string): readonly string[] {
  try {
    return (csvRows(text).next().value as CsvRow | undefined)?.fields.map((field) => field.trim().toLowerCase()) ?? [];
  } catch {
    return [];
  }
}

function namesOfCsv(text: string, what: string, column: number): string[] {
  const names: string[] = [];
  try {
    for (const { line, fields } of csvRows(text).drop(1)) {
      const name = fields[column] ?? '';
      if (name === '') throw new CommandFault(`${what}: line ${line}: it has no name`, EXIT.usage);
      names.push(name);
    }
  } catch (error) {
    if (error instanceof BadCsv) throw new CommandFault(`${what}: ${error.message}`, EXIT.usage);
    throw error;
  }
  return names;
}

function namesOfLines(text: string, what: string): string[] {
  const names = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  // Every line of a table with other separators would become a name.
  if (names[0]?.split(/[;\t|]/).some((cell) => /^"?name"?$/i.test(cell.trim())) === true && names[0] !== 'name') {
    throw new CommandFault(`${what}: columns must be separated by commas`, EXIT.usage);
  }
  const columns = SEPARATORS.map((separator) => columnsOf(text.replaceAll(separator, ','))).find(Boolean);
  if (columns) {
    throw new CommandFault(
      `${what}: it has the columns ${columns}, and none of them is name. Give that title to the column of the names; ` +
        'names that have commas themselves belong in such a column, too.',
      EXIT.usage,
    );
  }
  return names;
}

/** A spreadsheet takes one of these, by the country where it runs. */
const SEPARATORS = [',', ';', '\t'] as const;
const COLUMNS_TOLD_MAX = 10;
const TITLE_CHARACTERS_MAX = 40;

/** The titles of a table, in which every line has as many fields, and more than one; undefined where a text is none. */
function columnsOf(text: string): string | undefined {
  let titles: readonly string[] = [];
  try {
    for (const { fields } of csvRows(text)) {
      if (titles.length === 0) titles = fields;
      if (fields.length < 2 || fields.length !== titles.length) return undefined;
    }
  } catch {
    return undefined;
  }
  if (titles.length === 0) return undefined;
  const told = titles.slice(0, COLUMNS_TOLD_MAX).map((title) => title.trim().slice(0, TITLE_CHARACTERS_MAX));
  return `${told.join(', ')}${titles.length > told.length ? ' …' : ''}`;
}
