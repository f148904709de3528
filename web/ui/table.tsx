import { options, type ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { changeQuery, scrolledHere } from '../address/address.ts';
import { useAddress } from '../address/use-address.ts';
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
  /** What its head shows in place of the name. */
  readonly head?: ComponentChildren;
}

/** A column by its name in lower case, and whether from the greatest on. */
type Order = readonly [name: string, descending: boolean];

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** The parameter of the address that holds the order; without it the order is this visit's alone. */
  readonly orderIn?: string;
  /** Shows only the rows in sight: for hundreds of them. */
  readonly long?: boolean;
  readonly choice?: Choice<Row> | undefined;
}

/** The rows that somebody has chosen, by their ids. */
interface Choice<Row> {
  readonly chosen: ReadonlySet<string>;
  readonly onChosen: (chosen: ReadonlySet<string>) => void;
  /** What is heard of a row's box. */
  readonly labelOf: (row: Row) => string;
  /** What is heard of the box in the head, which chooses every row that is shown. */
  readonly all: string;
}

/** A table that can be sorted. A long one renders the rows in sight alone, and tells how many there are. */
export function Table<Row>({ caption, columns, rows, idOf, orderIn, long, choice }: TableProps<Row>) {
  const [[by, descending], setOrder] = useOrder(orderIn);
  const inOrder = useMemo(
    () => ordered(rows, columns.find(({ name }) => orderName(name) === by)?.by, descending),
    [rows, columns, by, descending],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const { first, last } = useRowsInSight(scroller, long === true ? inOrder.length : 0);
  useLayoutEffect(() => {
    if (long === true && scroller.current) scroller.current.scrollTop = scrolledHere(SCROLLER) ?? 0;
  }, [long]);
  const shown = long === true ? inOrder.slice(first, last) : inOrder;
  const sort = (name: string): void => setOrder([orderName(name), orderName(name) === by && !descending]);
  const width = columns.length + (choice ? 1 : 0);
  const choose = useRangeChoice(choice, inOrder, idOf);
  return (
    <div
      class={long === true ? 'table rows' : 'table'}
      ref={scroller}
      data-scroller={long === true ? SCROLLER : undefined}
      tabIndex={0}
      role="group"
      aria-label={caption}
    >
      <table aria-rowcount={long === true ? inOrder.length + 1 : undefined}>
        <caption>{caption}</caption>
        <thead>
          <tr aria-rowindex={long === true ? 1 : undefined}>
            {choice && <ChoiceHead choice={choice} rows={inOrder} idOf={idOf} />}
            {columns.map((column) => (
              <Head
                key={column.name}
                column={column}
                order={orderName(column.name) === by ? descending : undefined}
                onSort={sort}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {long === true && <Space rows={first} columns={width} />}
          {shown.map((row, index) => {
            const id = idOf(row);
            return (
              <tr
                key={id}
                class={choice?.chosen.has(id) === true ? 'chosen' : undefined}
                aria-rowindex={long === true ? first + index + 2 : undefined}
              >
                {choice && (
                  <td>
                    <input
                      type="checkbox"
                      aria-label={choice.labelOf(row)}
                      checked={choice.chosen.has(id)}
                      onClick={(event) => choose(id, event.currentTarget.checked, event.shiftKey)}
                    />
                  </td>
                )}
                {columns.map((column) => (
                  <Cell key={column.name} column={column} row={row} />
                ))}
              </tr>
            );
          })}
          {long === true && <Space rows={inOrder.length - last} columns={width} />}
        </tbody>
      </table>
    </div>
  );
}

interface ChoiceProps<Row> {
  readonly choice: Choice<Row>;
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
}

/** Chooses every row that is shown, or none of them. */
function ChoiceHead<Row>({ choice: { chosen, onChosen, all }, rows, idOf }: ChoiceProps<Row>) {
  const ids = rows.map(idOf);
  const count = ids.filter((id) => chosen.has(id)).length;
  return (
    <th scope="col">
      <input
        type="checkbox"
        aria-label={all}
        checked={count > 0 && count === ids.length}
        indeterminate={count > 0 && count < ids.length}
        onChange={({ currentTarget: { checked } }) => onChosen(withAll(chosen, ids, checked))}
      />
    </th>
  );
}

function withAll(chosen: ReadonlySet<string>, ids: readonly string[], isChosen: boolean): ReadonlySet<string> {
  const next = new Set(chosen);
  for (const id of ids) {
    if (isChosen) next.add(id);
    else next.delete(id);
  }
  return next;
}

/** Chooses one row; with the Shift key every row between it and the one of before. */
function useRangeChoice<Row>(choice: Choice<Row> | undefined, rows: readonly Row[], idOf: (row: Row) => string) {
  const before = useRef<string>(undefined);
  return (id: string, isChosen: boolean, isRange: boolean): void => {
    if (!choice) return;
    const ids = rows.map(idOf);
    const [from, to] = [ids.indexOf(before.current ?? ''), ids.indexOf(id)].sort((a, b) => a - b);
    const range = isRange && from !== undefined && to !== undefined && from >= 0 ? ids.slice(from, to + 1) : [id];
    before.current = id;
    choice.onChosen(withAll(choice.chosen, range, isChosen));
  };
}

/** A page has one long table. */
const SCROLLER = 'rows';

const orderName = (column: string): string => column.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

const UNORDERED: Order = ['', false];

/** The order of a table, in the address where it has a parameter there: `-` and the column from the greatest on. */
function useOrder(parameter: string | undefined): [Order, (order: Order) => void] {
  const own = useState<Order>(UNORDERED);
  const { query } = useAddress();
  if (parameter === undefined) return own;
  const told = new URLSearchParams(query).get(parameter);
  const order: Order = told === null ? UNORDERED : told.startsWith('-') ? [told.slice(1), true] : [told, false];
  return [order, ([name, descending]) => changeQuery({ [parameter]: descending ? `-${name}` : name })];
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
  const { name, by, number, unseen, head } = column;
  const sort = order === undefined ? undefined : order ? 'descending' : 'ascending';
  return (
    <th scope="col" class={number === true ? 'number' : undefined} aria-sort={sort}>
      {by ? (
        <button type="button" class="sort" onClick={() => onSort(name)}>
          {name}
          {order !== undefined && <Icon name={order ? 'down' : 'up'} />}
        </button>
      ) : (
        (head ?? <span class={unseen === true ? 'heard' : undefined}>{name}</span>)
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

/** As tables.css has it. */
const ROW_REM = 2.25;
/** Rows beyond the edges, so that a quick scroll shows no gap. */
const MARGIN = 12;

const Space = ({ rows, columns }: { rows: number; columns: number }) =>
  rows <= 0 ? null : (
    <tr class="space" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${rows * ROW_REM}rem` }} />
    </tr>
  );

/** Renders what changes before it returns: a browser lays paper out as soon as its listeners have returned. */
function atOnce(change: () => void): void {
  const before = { ...options };
  options.debounceRendering = (render) => render();
  change();
  Object.assign(options, { debounceRendering: undefined }, before);
}

/** Whether the page is being printed: on paper every row is in sight. */
function useIsPrinted(): boolean {
  const [isPrinted, setPrinted] = useState(false);
  useLayoutEffect(() => {
    const print = matchMedia('print');
    const changed = (): void => atOnce(() => setPrinted(print.matches));
    print.addEventListener('change', changed);
    return () => print.removeEventListener('change', changed);
  }, []);
  return isPrinted;
}

function useRowsInSight(scroller: { current: HTMLDivElement | null }, count: number): { first: number; last: number } {
  const [range, setRange] = useState({ first: 0, last: 40 });
  const isPrinted = useIsPrinted();
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
  if (isPrinted) return { first: 0, last: count };
  return count === 0
    ? { first: 0, last: 0 }
    : { first: Math.min(range.first, count), last: Math.min(range.last, count) };
}
