import { csvRow } from '../../text/csv.ts';
import { CommandFault, EXIT } from '../terminal/exit.ts';
import type { OutputFormat } from '../terminal/globals.ts';
import type { Invocation } from '../terminal/invocation.ts';
import { printable } from '../terminal/printable.ts';
import { cellOf, exact, instantOf, nameOf, shown, type Column } from './columns.ts';
import { renderTable } from './table.ts';
import { padTo, widthOf } from './width.ts';

/** How a thing is printed, one or many. */
interface Shape<Item> {
  readonly columns: readonly Column<Item>[];
  /** Without it, `-o id` is refused: the thing has no id. */
  readonly id?: (item: Item) => string;
  /** The form of an item in json and jsonl; without it the item itself. */
  readonly json?: (item: Item) => unknown;
}

export interface Listing<Item> extends Shape<Item> {
  readonly items: Iterable<Item> | AsyncIterable<Item>;
  /** The one document of `-o json`, where that is more than an array of the items; it keeps all of them in memory. */
  readonly document?: (items: readonly unknown[]) => unknown;
  /** Said on stderr where a table has no line. */
  readonly none?: string;
}

interface Single<Item> extends Shape<Item> {
  readonly item: Item;
}

/**
 * Prints a list in the form of `-o`, and at most `--limit` items of it. jsonl, csv and id are written as the items
 * come, and json as well where it is an array; a table is kept in memory, since its widths are known at the end.
 * @returns how many items were printed
 * @throws CommandFault with exit code 2 for `-o id` of things without one; what `items` throws
 */
export async function printList<Item>(call: Invocation, listing: Listing<Item>): Promise<number> {
  const { output, limit } = call.globals;
  const { stdout } = call.terminal;
  refuseId(output, listing);
  const { json = (item: Item): unknown => item, document } = listing;
  let count = 0;
  const items = counted(limited(listing.items, limit), () => (count += 1));
  if (output === 'table') await printTable(call, listing, items);
  else if (output === 'json' && document) {
    const all: unknown[] = [];
    for await (const item of items) all.push(json(item));
    await stdout.write(jsonText(document(all)));
  } else if (output === 'json') {
    for await (const item of items) await stdout.write(`${count === 1 ? '[\n' : ',\n'}${indented(json(item))}`);
    await stdout.write(count === 0 ? '[]\n' : '\n]\n');
  } else {
    if (output === 'csv') await stdout.write(`${csvRow(listing.columns.map(nameOf))}\r\n`);
    for await (const item of items) await stdout.write(lineOf(output, listing, item));
  }
  return count;
}

/**
 * Prints one thing in the form of `-o`; a table has a line for each column.
 * @throws CommandFault with exit code 2 for `-o id` of a thing without one
 */
export async function printOne<Item>(call: Invocation, single: Single<Item>): Promise<void> {
  const { output } = call.globals;
  const { stdout } = call.terminal;
  refuseId(output, single);
  const { item, columns, json = (item: Item): unknown => item } = single;
  if (output === 'table') await stdout.write(linesOf(columns, item, call.clock.now()));
  else if (output === 'json') await stdout.write(jsonText(json(item)));
  else if (output === 'csv') {
    await stdout.write(`${csvRow(columns.map(nameOf))}\r\n${lineOf(output, single, item)}`);
  } else await stdout.write(lineOf(output, single, item));
}

/**
 * Refuses `-o json` of what goes on until it is stopped. The rows of csv stand each for itself, as the lines of jsonl.
 * @param option what makes it endless
 * @throws CommandFault with exit code 2
 */
export function refuseEndlessDocument({ globals }: Invocation, option: string): void {
  if (globals.output !== 'json') return;
  throw new CommandFault(`${option} has no end, so that it is no one document: choose -o jsonl.`, EXIT.usage);
}

/**
 * Refuses `-o id` of what has none; a command that works before it prints calls it first.
 * @throws CommandFault with exit code 2
 */
export function refuseId(output: OutputFormat, { id }: Shape<never>): void {
  if (output !== 'id' || id) return;
  throw new CommandFault('This has no id: choose another form than -o id.', EXIT.usage);
}

async function printTable<Item>(
  { clock, terminal, say }: Invocation,
  { columns, none }: Listing<Item>,
  items: AsyncIterable<Item>,
): Promise<void> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  if (all.length === 0 && none !== undefined) return say(none);
  await terminal.stdout.write(
    renderTable(columns, all, {
      columns: terminal.stdout.columns,
      colours: terminal.stdout.colours,
      now: clock.now(),
    }),
  );
}

/** One item as a line of a form that is written line by line. */
function lineOf<Item>(form: 'jsonl' | 'csv' | 'id', { columns, id, json = (item) => item }: Shape<Item>, item: Item) {
  if (form === 'jsonl') return `${safe(JSON.stringify(json(item)))}\n`;
  if (form === 'csv') return `${csvRow(columns.map((column) => exact(column, item)))}\r\n`;
  return `${printable(id?.(item) ?? '')}\n`;
}

/** Title and value, a line each; an instant is exact and relative. */
function linesOf<Item>(columns: readonly Column<Item>[], item: Item, now: number): string {
  const width = Math.max(0, ...columns.map(({ head }) => widthOf(head)));
  const lines = columns.map((column) => {
    const cell = cellOf(column, item);
    const isInstant = column.kind === 'time' && (typeof cell === 'string' || typeof cell === 'number');
    const told = shown(column, item, now);
    const value = isInstant && instantOf(cell) !== undefined ? `${exact(column, item)} (${told})` : told;
    return `${padTo(column.head, width, 'left')}  ${value}\n`;
  });
  return lines.join('');
}

/** JSON with escapes for the characters from U+007F on that a terminal would obey: it stands for the same text. */
const safe = (json: string): string =>
  json.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n' ? character : character.split('').map(escapeUnit).join(''),
  );
const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

const jsonText = (value: unknown): string => `${safe(JSON.stringify(value, undefined, 2))}\n`;
/** An element of an array of two blanks' indentation. */
const indented = (value: unknown): string => `  ${safe(JSON.stringify(value, undefined, 2)).replaceAll('\n', '\n  ')}`;

/** Ends after so many items, and lets the source end as well. */
async function* limited<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Item, void> {
  let count = 0;
  for await (const item of items) {
    yield item;
    count += 1;
    if (count >= limit) return;
  }
}

async function* counted<Item>(items: AsyncIterable<Item>, count: () => void): AsyncGenerator<Item, void> {
  for await (const item of items) {
    count();
    yield item;
  }
}
