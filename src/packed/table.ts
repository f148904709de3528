import { PackedIndex } from './hash-index.ts';
import { hashOfBytes, hashOfText, isTextAt } from './hash.ts';
import { TextPages, type PackedText } from './text-pages.ts';

/**
 * Rows of a group, a key, a revision and a value, with next to nothing on the heap: slots on pages (text-pages.ts),
 * typed columns, and one index. The table does not read the values. A row keeps its number until it is removed, through
 * new values too; then the number goes to another row. So callers can have columns of their own.
 *
 * A key is printable ASCII and is found by itself or within its group; a group has it once. Beside key and value a row
 * takes 12 bytes in its slot, 16 in the columns and 11 to 21 in the index.
 */
export class PackedTable {
  readonly #moved: (row: number) => void;
  readonly #pages = new TextPages((row, offset) => {
    this.#offsets[row] = offset;
    this.#moved(row);
  });
  readonly #index = new PackedIndex();
  /** The offset of the row's slot; for a free row, the next free row. */
  #offsets = new Uint32Array(ROWS_MIN);
  #groups = new Uint32Array(ROWS_MIN);
  /** 0 where the row is free. */
  #revisions = new Float64Array(ROWS_MIN);
  #rows = 0;
  #free = NONE;

  /**
   * @param moved is called when the page of a row's value is about to be dropped: a caller that keeps the value keeps
   * the page
   */
  constructor(moved: (row: number) => void = () => undefined) {
    this.#moved = moved;
  }

  get size(): number {
    return this.#index.size;
  }

  /** All numbers of rows are below this one. */
  get rows(): number {
    return this.#rows;
  }

  /** Bytes of all that it holds, outside the heap. */
  get bytes(): number {
    const columns = this.#offsets.byteLength + this.#groups.byteLength + this.#revisions.byteLength;
    return this.#pages.bytes + this.#index.bytes + columns;
  }

  /** The row of the key, in the group or in any; -1 where there is none. */
  find(key: string, group?: number): number {
    const hash = hashOfText(key);
    for (let at = this.#index.first(hash); at >= 0; at = this.#index.next(at, hash)) {
      const row = this.#index.rowAt(at);
      if (group !== undefined && this.#groups[row] !== group) continue;
      const { bytes, start, end } = this.#pages.key(this.#offsetOf(row));
      if (isTextAt(bytes, start, end, key)) return row;
    }
    return -1;
  }

  /** Adds a row. @returns its number */
  add(group: number, key: string, revision: number, value: string): number {
    const row = this.#newRow();
    this.#offsets[row] = this.#pages.put(row, key, value);
    this.#groups[row] = group;
    this.#revisions[row] = revision;
    this.#index.add(hashOfText(key), row);
    return row;
  }

  /** Gives a row another value. */
  replace(row: number, revision: number, value: string): void {
    const key = this.keyOf(row);
    this.#pages.release(this.#offsetOf(row));
    this.#offsets[row] = this.#pages.put(row, key, value);
    this.#revisions[row] = revision;
  }

  remove(row: number): void {
    const { bytes, start, end } = this.#pages.key(this.#offsetOf(row));
    this.#index.remove(hashOfBytes(bytes, start, end), row);
    this.#pages.release(this.#offsetOf(row));
    this.#offsets[row] = this.#free;
    this.#revisions[row] = 0;
    this.#free = row;
  }

  keyOf(row: number): string {
    const { bytes, start, end } = this.#pages.key(this.#offsetOf(row));
    return bytes.toString('latin1', start, end);
  }

  groupOf(row: number): number {
    return this.#groups[row] ?? 0;
  }

  revisionOf(row: number): number {
    return this.#revisions[row] ?? 0;
  }

  /** The value of the row, in UTF-8. */
  valueOf(row: number): PackedText {
    return this.#pages.value(this.#offsetOf(row));
  }

  #offsetOf(row: number): number {
    const offset = this.#offsets[row];
    if (offset === undefined || this.#revisions[row] === 0) throw new RangeError(`There is no row ${row}.`);
    return offset;
  }

  #newRow(): number {
    const free = this.#free;
    if (free !== NONE) {
      this.#free = this.#offsets[free] ?? NONE;
      return free;
    }
    const row = this.#rows;
    this.#rows += 1;
    if (row === this.#offsets.length) {
      this.#offsets = withRoom(this.#offsets, Uint32Array, row);
      this.#groups = withRoom(this.#groups, Uint32Array, row);
      this.#revisions = withRoom(this.#revisions, Float64Array, row);
    }
    return row;
  }
}

const NONE = 0xffff_ffff;
const ROWS_MIN = 16;

interface Column<Self> {
  readonly length: number;
  set(from: Self): void;
}

/** The column, or a copy of it that has room for this row and for half as many again, so that growing stays rare. */
export function withRoom<C extends Column<C>>(column: C, type: new (length: number) => C, row: number): C {
  if (row < column.length) return column;
  const larger = new type(Math.max(ROWS_MIN, Math.ceil((row + 1) * 1.5)));
  larger.set(column);
  return larger;
}
