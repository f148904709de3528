import type { ComponentChildren } from 'preact';
import type { SortKey } from './table-order.ts';

/** A column of a table. With `by` the rows can be sorted by it. */
export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly by?: (row: Row) => SortKey;
  /** The cell names the row, for those who hear the table. It stays in sight where the table is scrolled sideways. */
  readonly names?: boolean;
  readonly number?: boolean;
  /** The name is heard, and not seen: the column is that of the actions, which stays in sight as well. */
  readonly unseen?: boolean;
  /** False where the column is shown only once somebody has chosen it. */
  readonly atFirst?: boolean;
  /** The content of its head in place of the name. */
  readonly head?: ComponentChildren;
}
