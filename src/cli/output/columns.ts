import { isBlank } from '../../text/shown-name.ts';
import { printableName } from './printable-name.ts';
import { relativeTime } from './relative-time.ts';

/** The content of one place of a table. Nothing (null, undefined) is `-` in a table, and empty in csv. */
export type Cell = string | number | boolean | null | undefined;

/** One column of a list, or one line of a single object. */
export interface Column<Item> {
  /** The title, in capitals: `LAST SEEN`. */
  readonly head: string;
  /** The name in csv; without it, the title as `lastSeen`. Give the name that it has in json. */
  readonly name?: string;
  readonly of: (item: Item) => Cell;
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
export const nameOf = ({ head, name }: Pick<Column<never>, 'head' | 'name'>): string =>
  name ??
  head
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase())
    .replaceAll(/[^A-Za-z0-9]/g, '');

/** A cell for people, in one line that moves no terminal. */
export function shown<Item>({ of, kind }: Column<Item>, item: Item, now: number): string {
  const cell = of(item);
  if (cell === null || cell === undefined || isBlank(String(cell))) return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  const at = kind === 'time' ? instantOf(cell) : undefined;
  return at === undefined ? printableName(String(cell)) : relativeTime(at, now);
}

/** A cell for programs: an instant is exact. */
export function exact<Item>({ of, kind }: Column<Item>, item: Item): string | number {
  const cell = of(item);
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
