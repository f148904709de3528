import { PackedIndex } from './hash-index.ts';
import { hashOfBytes, hashOfText, isTextAt } from './hash.ts';
import { PackedCells, type PackedText } from './text-pages.ts';

/**
 * Rows of a group, a key, a revision and a value, with next to nothing on the heap: cells on pages (text-pages.ts),
 * typed columns, and one index. What a value says is nobody's business here. A row keeps its number as long as it is
 * there, through new values too; then the number goes to another row. So others can have columns of their own.
 *
 * A key is printable ASCII and is found by itself or within its group; a group has it once. Beside key and value a row
 * takes 12 bytes in its cell, 16 in the columns and 11 to 21 in the index.
 */
export class PackedTable {
  readonly #moved: (row: number) => void;
  readonly #cells = new PackedCells((row, place) => {
    this.#places[row] = place;
    this.#moved(row);
  });
  readonly #index = new PackedIndex();
  /** Where the row's cell is; of a free row the next free one. */
  #places = new Uint32Array(ROWS_MIN);
  #groups = new Uint32Array(ROWS_MIN);
  /** 0 where the row is free. */
  #revisions = new Float64Array(ROWS_MIN);
  #rows = 0;
  #free = NONE;

  /** @param moved what was read of this row lies on a page that is about to be dropped: who keeps it keeps the page */
  constructor(moved: (row: number) => void = () => undefined) {
    this.#moved = moved;
  }

  get size(): number {
    return this.#index.size;
  }

  /** All numbers of rows are below. */
  get rows(): number {
    return this.#rows;
  }

  /** Of all that it holds, outside the heap. */
  get bytes(): number {
    const columns = this.#places.byteLength + this.#groups.byteLength + this.#revisions.byteLength;
    return this.#cells.bytes + this.#index.bytes + columns;
  }

  /** The row of the key, in the group or in any; -1 where there is none. */
  find(key: string, group?: number): number {
    const hash = hashOfText(key);
    for (let at = this.#index.first(hash); at >= 0; at = this.#index.next(at, hash)) {
      const row = this.#index.rowAt(at);
      if (group !== undefined && this.#groups[row] !== group) continue;
      const { bytes, start, end } = this.#cells.key(this.#placeOf(row));
      if (isTextAt(bytes, start, end, key)) return row;
    }
    return -1;
  }

  /** Adds a row. @returns its number */
  add(group: number, key: string, revision: number, value: string): number {
    const row = this.#newRow();
    this.#places[row] = this.#cells.put(row, key, value);
    this.#groups[row] = group;
    this.#revisions[row] = revision;
    this.#index.add(hashOfText(key), row);
    return row;
  }

  /** Gives a row another value. */
  replace(row: number, revision: number, value: string): void {
    const key = this.keyOf(row);
    this.#cells.release(this.#placeOf(row));
    this.#places[row] = this.#cells.put(row, key, value);
    this.#revisions[row] = revision;
  }

  remove(row: number): void {
    const { bytes, start, end } = this.#cells.key(this.#placeOf(row));
    this.#index.remove(hashOfBytes(bytes, start, end), row);
    this.#cells.release(this.#placeOf(row));
    this.#places[row] = this.#free;
    this.#revisions[row] = 0;
    this.#free = row;
  }

  keyOf(row: number): string {
    const { bytes, start, end } = this.#cells.key(this.#placeOf(row));
    return bytes.toString('latin1', start, end);
  }

  groupOf(row: number): number {
    return this.#groups[row] ?? 0;
  }

  revisionOf(row: number): number {
    return this.#revisions[row] ?? 0;
  }

  /** The value in UTF-8. */
  valueOf(row: number): PackedText {
    return this.#cells.value(this.#placeOf(row));
  }

  #placeOf(row: number): number {
    const place = this.#places[row];
    if (place === undefined || this.#revisions[row] === 0) throw new RangeError(`There is no row ${row}.`);
    return place;
  }

  #newRow(): number {
    const free = this.#free;
    if (free !== NONE) {
      this.#free = this.#places[free] ?? NONE;
      return free;
    }
    const row = this.#rows;
    this.#rows += 1;
    if (row === this.#places.length) {
      this.#places = withRoom(this.#places, Uint32Array, row);
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

/** The column, copied to one that has room for this row, and for half as many again, so that growing stays rare. */
export function withRoom<C extends Column<C>>(column: C, type: new (length: number) => C, row: number): C {
  if (row < column.length) return column;
  const larger = new type(Math.max(ROWS_MIN, Math.ceil((row + 1) * 1.5)));
  larger.set(column);
  return larger;
}
