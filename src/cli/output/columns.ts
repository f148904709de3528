import { isBlank } from '../../text/shown-name.ts';
import { printableName } from './printable-name.ts';
import { relativeTime } from './relative-time.ts';

/** The content of one place of a table. Nothing (null, undefined) is `-` in a table, and empty in csv. */
export type Cell = string | number | boolean | null | undefined;

/** The fields of an item that a cell shows as they are. */
type FieldOf<Item> = { [Name in keyof Item & string]-?: Item[Name] extends Cell ? Name : never }[keyof Item & string];

/**
 * One column of a list, or one line of a single object: a `field` of the item, which is also the column's name in csv,
 * or what `of` makes of the item.
 */
export type Column<Item> = Title<Item> &
  (
    | { readonly field: FieldOf<Item>; readonly of?: never; readonly name?: never }
    | {
        readonly of: (item: Item) => Cell;
        readonly field?: never;
        /** The name in csv; without it, the title as `lastSeen`. Give the name that it has in json. */
        readonly name?: string;
      }
  );

interface Title<Item> {
  /** The title, in capitals: `LAST SEEN`. */
  readonly head: string;
  /**
   * `text`: words of any length, which are cut where the terminal is too narrow. `number`: stands to the right. `time`:
   * an instant, as ISO 8601 or in milliseconds since 1970, which people see as `3 min ago`. Without a kind it is an id
   * or a word, and never cut.
   */
  readonly kind?: 'text' | 'number' | 'time';
  /** Is left out of a table that is too wide for the terminal, before anything is cut; the last one first. */
  readonly minor?: true;
  /** The colour of a cell on a terminal. */
  readonly tone?: (item: Item) => Tone | undefined;
}

export type Tone = 'good' | 'bad' | 'faint';

/** The name of a column in csv. */
export const nameOf = <Item>({ head, field, name = field }: Column<Item>): string =>
  name ??
  head
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase())
    .replaceAll(/[^A-Za-z0-9]/g, '');

/** The content of a column for one item. */
export const cellOf = <Item>(column: Column<Item>, item: Item): Cell =>
  // The compiler does not reduce `Item[FieldOf<Item>]` while `Item` is open: `FieldOf` names cells alone.
  column.of ? column.of(item) : (item[column.field] as Cell);

/** A cell for people, in one line that moves no terminal. */
export function shown<Item>(column: Column<Item>, item: Item, now: number): string {
  const { kind } = column;
  const cell = cellOf(column, item);
  if (cell === null || cell === undefined || isBlank(String(cell))) return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  const at = kind === 'time' ? instantOf(cell) : undefined;
  return at === undefined ? printableName(String(cell)) : relativeTime(at, now);
}

/** A cell for programs: an instant is exact. */
export function exact<Item>(column: Column<Item>, item: Item): string | number {
  const { kind } = column;
  const cell = cellOf(column, item);
  if (cell === null || cell === undefined) return '';
  if (typeof cell === 'boolean') return String(cell);
  const at = kind === 'time' ? instantOf(cell) : undefined;
  return at === undefined ? cell : new Date(at).toISOString();
}

/** Milliseconds since 1970; undefined where it is no instant, and is printed as it is. */
export function instantOf(cell: string | number): number | undefined {
  const at = new Date(cell).getTime();
  return Number.isNaN(at) ? undefined : at;
}
