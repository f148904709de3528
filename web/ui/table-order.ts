import { useState } from 'preact/hooks';
import { changeQuery } from '../address/address.ts';
import { useQueryText } from '../address/use-address.ts';

/* The order of a table's rows. */

/** By what a row is sorted; null stands for nothing, and comes last in either direction. */
export type SortKey = string | number | null;

/** A column by its name in lower case, and whether from the greatest on. */
type Order = readonly [name: string, descending: boolean];

export const orderName = (column: string): string => column.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

const UNORDERED: Order = ['', false];

/** The order of a table, in the address where it has a parameter there: `-` and the column from the greatest on. */
export function useOrder(parameter: string | undefined): [Order, (order: Order) => void] {
  const own = useState<Order>(UNORDERED);
  const query = useQueryText();
  if (parameter === undefined) return own;
  const told = new URLSearchParams(query).get(parameter);
  const order: Order = told === null ? UNORDERED : told.startsWith('-') ? [told.slice(1), true] : [told, false];
  return [order, ([name, descending]) => changeQuery({ [parameter]: descending ? `-${name}` : name })];
}

/** A text by which names and versions are in the order that people expect: edge-2 before edge-10, 1.9 before 1.10. */
export const inNumericOrder = (text: string): string =>
  text.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(12, '0'));

/** The rows in order; those that are alike stay as they were. */
export function ordered<Row>(
  rows: readonly Row[],
  by: ((row: Row) => SortKey) | undefined,
  descending: boolean,
): readonly Row[] {
  if (!by) return rows;
  const sign = descending ? -1 : 1;
  const keyed = rows.map((row) => [by(row), row] as const);
  keyed.sort(([a], [b]) => {
    if (a === b) return 0;
    if (a === null || b === null) return a === null ? 1 : -1;
    return a < b ? -sign : sign;
  });
  return keyed.map(([, row]) => row);
}
