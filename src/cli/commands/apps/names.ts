import { LIMITS } from '../../../domain/limits.ts';
import { BadCsv, csvRows, LINE_END, type CsvRow } from '../../../text/csv-rows.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import { inputOf } from '../../terminal/input.ts';

/** The apps of an account, and the idempotency records of one: no more can be made, and none beyond it resumed. */
export const NAMES_MAX = 1000;
const FILE_BYTES_MAX = 1_048_576;

/**
 * `edge-001`, `edge-002` and so on: as wide as the greatest number, so that they sort.
 * @throws CommandFault with exit code 2 where the service would refuse them
 */
export function numbered(prefix: string, count: number): string[] {
  const names = Array.from(
    { length: count },
    (_, at) => `${prefix}${String(at + 1).padStart(String(count).length, '0')}`,
  );
  const fault = faultOf(names[0] ?? '');
  if (fault !== undefined) throw new CommandFault(`--prefix: ${fault}`, EXIT.usage);
  return names;
}

/** A name, or what is wrong with its line. */
type Judged = { readonly line: number } & ({ readonly name: string } | { readonly fault: string });

/** Two names that look the same are the same, whichever way their letters are composed. */
export const comparableName = (name: string): string => name.normalize('NFC');

/**
 * The names in a CSV with a column `name`, or else one a line. Every line is judged before the first name is used: a
 * table without that column, and a line that is no whole row or has no sound name, refuse the file.
 * @param path `-` is stdin
 * @param once whether a name that is there twice refuses the file as well
 * @throws CommandFault with exit code 2
 */
export async function namesIn(path: string, { once = false } = {}): Promise<readonly string[]> {
  const text = (await inputOf(path, FILE_BYTES_MAX)).replace(/^\uFEFF/, '');
  const what = path === '-' ? 'stdin' : path;
  const head = headOf(text);
  const judged = [...(head?.fields.includes('name') === true ? judgedRows(text, head) : judgedLines(text, what))];
  refuseFaults(once ? judgedOnce(judged) : judged, what);
  const names = judged.flatMap((one) => ('name' in one ? [one.name] : []));
  if (names.length >= 1 && names.length <= NAMES_MAX) return names;
  throw new CommandFault(`${what}: it must have 1 to ${NAMES_MAX} names, and has ${names.length}`, EXIT.usage);
}

function judgedOnce(judged: readonly Judged[]): readonly Judged[] {
  const lines = new Map<string, number>();
  return judged.map((one) => {
    if (!('name' in one)) return one;
    const { line, name } = one;
    const first = lines.get(comparableName(name));
    lines.set(comparableName(name), first ?? line);
    return first === undefined ? one : { line, fault: `the name is that of line ${first}` };
  });
}

const FAULTS_TOLD_MAX = 5;

function refuseFaults(judged: readonly Judged[], what: string): void {
  const faults = judged.flatMap((one) => ('fault' in one ? [`line ${one.line}: ${one.fault}`] : []));
  if (faults.length === 0) return;
  const more = faults.length - FAULTS_TOLD_MAX;
  const rest = more > 0 ? `. ${more} further lines are wrong` : '';
  throw new CommandFault(`${what}: ${faults.slice(0, FAULTS_TOLD_MAX).join('. ')}${rest}`, EXIT.usage);
}

/** Controls, the ends of lines of other systems among them, and halves of pairs: in a file of names they are damage. */
const DAMAGE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Says what is wrong with the name of an app, by A1 and by what nobody means as a name; undefined where nothing is. */
function faultOf(name: string): string | undefined {
  if (name.trim() === '') return 'it has no name';
  const length = Array.from(name).length;
  const max = LIMITS.nameCodePointsMax;
  if (length > max) return `the name has ${length} characters, and at most ${max} are taken`;
  const code = DAMAGE.exec(name)?.[0].codePointAt(0);
  if (code === undefined) return undefined;
  return `the name has the character U+${code.toString(16).toUpperCase().padStart(4, '0')}, which nobody sees`;
}

function judgedName(line: number, name: string): Judged {
  const fault = faultOf(name);
  return fault === undefined ? { line, name } : { line, fault };
}

/** The first row in small letters, as spreadsheets have titles in any; undefined where the text is no CSV. */
function headOf(text: string): CsvRow | undefined {
  try {
    const [row] = csvRows(text).take(1);
    return row && { ...row, fields: row.fields.map((field) => field.trim().toLowerCase()) };
  } catch {
    return undefined;
  }
}

function* judgedRows(text: string, { line, fields: head }: CsvRow): Generator<Judged, void> {
  const column = head.indexOf('name');
  if (head.lastIndexOf('name') !== column) yield { line, fault: 'two columns have the title name' };
  try {
    for (const { line: at, fields } of csvRows(text).drop(1)) {
      const fault = fields.length === head.length ? undefined : fieldsFault(fields.length, head.length);
      yield fault === undefined ? judgedName(at, fields[column] ?? '') : { line: at, fault };
    }
  } catch (error) {
    if (!(error instanceof BadCsv)) throw error;
    yield { line: error.line, fault: error.rule };
  }
}

/** A row with more fields than titles would lose some: `Rome, Italy` without quotation marks would be `Rome`. */
function fieldsFault(fields: number, titles: number): string {
  const has = `it has ${fields} ${fields === 1 ? 'field' : 'fields'}, and the titles are ${titles}`;
  return fields < titles ? has : `${has}: a text with a comma stands in quotation marks, as in "Rome, Italy"`;
}

/** The marks of a CSV would become a part of the name. */
const QUOTED = /^".*"$/;
const QUOTED_FAULT = 'quotation marks belong to a CSV, whose first row has the title name';

function judgedLines(text: string, what: string): Judged[] {
  const lines = text
    .split(LINE_END)
    .map((name, at) => ({ line: at + 1, name: name.trim() }))
    .filter(({ name }) => name !== '');
  const first = lines[0]?.name ?? '';
  // Every line of a table with other separators would become a name.
  if (first.split(/[;\t|]/).some((cell) => /^"?name"?$/i.test(cell.trim())) && first !== 'name') {
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
  return lines.map(({ line, name }) => (QUOTED.test(name) ? { line, fault: QUOTED_FAULT } : judgedName(line, name)));
}

/** The delimiters of spreadsheets, which take one of them by the country where they run. */
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
