import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

/** A column of a table. With `by` the rows can be sorted by it. */
export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly by?: (row: Row) => string | number;
  /** The cell names the row, for those who hear the table. */
  readonly names?: boolean;
  readonly number?: boolean;
  /** The name is heard, and not seen. */
  readonly unseen?: boolean;
}

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** The column to sort by at first, and whether from the greatest on. */
  readonly sorted?: readonly [name: string, descending: boolean];
  /** Shows only the rows in sight: for hundreds of them. */
  readonly long?: boolean;
  readonly chosen?: ReadonlySet<string>;
}

/** A table that can be sorted. A long one renders the rows in sight alone, and tells how many there are. */
export function Table<Row>({ caption, columns, rows, idOf, sorted, long, chosen }: TableProps<Row>) {
  const [[by, descending], setOrder] = useState<readonly [string, boolean]>(sorted ?? ['', false]);
  const inOrder = useMemo(
    () => ordered(rows, columns.find(({ name }) => name === by)?.by, descending),
    [rows, columns, by, descending],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const { first, last } = useRowsInSight(scroller, long === true ? inOrder.length : 0);
  const shown = long === true ? inOrder.slice(first, last) : inOrder;
  const sort = (name: string): void => setOrder(([before, down]) => [name, before === name ? !down : false]);
  return (
    <div class={long === true ? 'table rows' : 'table'} ref={scroller} tabIndex={0} role="group" aria-label={caption}>
      <table aria-rowcount={long === true ? inOrder.length + 1 : undefined}>
        <caption>{caption}</caption>
        <thead>
          <tr aria-rowindex={long === true ? 1 : undefined}>
            {columns.map((column) => (
              <Head
                key={column.name}
                column={column}
                order={column.name === by ? descending : undefined}
                onSort={sort}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {long === true && <Space rows={first} columns={columns.length} />}
          {shown.map((row, index) => {
            const id = idOf(row);
            return (
              <tr
                key={id}
                class={chosen?.has(id) === true ? 'chosen' : undefined}
                aria-rowindex={long === true ? first + index + 2 : undefined}
              >
                {columns.map((column) => (
                  <Cell key={column.name} column={column} row={row} />
                ))}
              </tr>
            );
          })}
          {long === true && <Space rows={inOrder.length - last} columns={columns.length} />}
        </tbody>
      </table>
    </div>
  );
}

function Head<Row>({
  column,
  order,
  onSort,
}: {
  column: Column<Row>;
  order: boolean | undefined;
  onSort: (name: string) => void;
}) {
  const { name, by, number, unseen } = column;
  const sort = order === undefined ? undefined : order ? 'descending' : 'ascending';
  return (
    <th scope="col" class={number === true ? 'number' : undefined} aria-sort={sort}>
      {by ? (
        <button type="button" class="sort" onClick={() => onSort(name)}>
          {name}
          {order !== undefined && <Icon name={order ? 'down' : 'up'} />}
        </button>
      ) : (
        <span class={unseen === true ? 'heard' : undefined}>{name}</span>
      )}
    </th>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  if (column.names === true) return <th scope="row">{column.cell(row)}</th>;
  return <td class={column.number === true ? 'number' : undefined}>{column.cell(row)}</td>;
}

function ordered<Row>(rows: readonly Row[], by: Column<Row>['by'], descending: boolean): readonly Row[] {
  if (!by) return rows;
  const sign = descending ? -1 : 1;
  const keyed = rows.map((row) => [by(row), row] as const);
  keyed.sort(([a], [b]) => (a === b ? 0 : a < b ? -sign : sign));
  return keyed.map(([, row]) => row);
}

/** As tables.css has it: 2.75 rem. */
const ROW_REM = 2.75;
/** Rows beyond the edges, so that a quick scroll shows no gap. */
const MARGIN = 12;

const Space = ({ rows, columns }: { rows: number; columns: number }) =>
  rows <= 0 ? null : (
    <tr class="space" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${rows * ROW_REM}rem` }} />
    </tr>
  );

function useRowsInSight(scroller: { current: HTMLDivElement | null }, count: number): { first: number; last: number } {
  const [range, setRange] = useState({ first: 0, last: 40 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || count === 0) return undefined;
    const see = (): void => {
      const row = ROW_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
      const top = Math.floor(element.scrollTop / row);
      const first = Math.max(0, top - MARGIN);
      const last = Math.min(count, top + Math.ceil(element.clientHeight / row) + MARGIN);
      // Rows go in steps, so that most scroll events change nothing.
      setRange((before) =>
        Math.abs(before.first - first) < MARGIN / 2 &&
        before.last >= Math.min(count, last - MARGIN / 2) &&
        before.last <= count
          ? before
          : { first, last },
      );
    };
    see();
    element.addEventListener('scroll', see, { passive: true });
    addEventListener('resize', see);
    return () => {
      element.removeEventListener('scroll', see);
      removeEventListener('resize', see);
    };
  }, [scroller, count]);
  return count === 0
    ? { first: 0, last: 0 }
    : { first: Math.min(range.first, count), last: Math.min(range.last, count) };
}
