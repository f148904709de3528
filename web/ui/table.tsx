import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { scrolledHere } from '../address/address.ts';
import type { Column } from './column.ts';
import { COLUMNS_FEW, ColumnsMenu, useColumns } from './columns.tsx';
import { Icon } from './icons.tsx';
import { useEdges } from './table-edges.ts';
import { ordered, orderName, useOrder } from './table-order.ts';
import { Space, useRowsInSight } from './table-rows.tsx';

export type { Column } from './column.ts';

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** The parameter of the address that holds the order; without it the order is this visit's alone. */
  readonly orderIn?: string;
  /** There are further rows on other pages, so that no order of these says anything. */
  readonly isPart?: boolean;
  /** Shows only the rows in sight: for hundreds of them. */
  readonly long?: boolean;
  readonly choice?: Choice<Row> | undefined;
  /** The name under which the browser keeps the chosen columns; without it each is shown. */
  readonly keptAs?: string;
  /** The page shows the caption elsewhere: it is heard alone. */
  readonly captionHeard?: boolean;
  /** The columns that are shown, where the page has the menu by which they are chosen. */
  readonly shown?: readonly Column<Row>[];
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
export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns: all, rows, idOf, orderIn, isPart = false, long, choice, keptAs, captionHeard } = props;
  const chosenColumns = useColumns(keptAs, all);
  const columns = props.shown ?? chosenColumns.shown;
  const [[wanted, descending], setOrder] = useOrder(orderIn);
  const by = isPart ? undefined : wanted;
  const inOrder = useMemo(
    () => ordered(rows, all.find(({ name }) => orderName(name) === by)?.by, descending),
    [rows, all, by, descending],
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
  const { start, end, pinnedEnd } = useEdges(scroller);
  const hasMenu = keptAs !== undefined && all.length > COLUMNS_FEW;
  return (
    <div
      class={`framed ${start ? 'more-start' : ''} ${end ? 'more-end' : ''} ${pinnedEnd > 0 ? 'pinned' : ''}`}
      style={{ '--pinned-end': `${pinnedEnd}px` }}
    >
      {hasMenu && (
        <div class="bar">
          <span aria-hidden="true">{caption}</span>
          <ColumnsMenu of={chosenColumns} small />
        </div>
      )}
      <div
        class={long === true ? 'table rows' : 'table'}
        ref={scroller}
        data-scroller={long === true ? SCROLLER : undefined}
        tabIndex={0}
        role="group"
        aria-label={caption}
      >
        <table aria-rowcount={long === true ? inOrder.length + 1 : undefined}>
          <caption>
            <span class={hasMenu || captionHeard === true ? 'heard' : undefined}>{caption}</span>
          </caption>
          <thead>
            <tr aria-rowindex={long === true ? 1 : undefined}>
              {choice && <ChoiceHead choice={choice} rows={inOrder} idOf={idOf} />}
              {columns.map((column) => (
                <Head
                  key={column.name}
                  column={column}
                  isSortable={!isPart}
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

function Head<Row>({
  column,
  isSortable,
  order,
  onSort,
}: {
  column: Column<Row>;
  isSortable: boolean;
  order: boolean | undefined;
  onSort: (name: string) => void;
}) {
  const { name, by, unseen, head } = column;
  const sort = order === undefined ? undefined : order ? 'descending' : 'ascending';
  return (
    <th scope="col" class={classOf(column)} aria-sort={sort}>
      {by && isSortable ? (
        <button type="button" class="sort" onClick={() => onSort(name)}>
          {name}
          <Icon name={order === undefined ? 'choose' : order ? 'down' : 'up'} />
        </button>
      ) : (
        (head ?? <span class={unseen === true ? 'heard' : undefined}>{name}</span>)
      )}
    </th>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const content = column.cell(row);
  if (column.names === true) {
    return (
      <th scope="row" class={classOf(column)}>
        {content}
      </th>
    );
  }
  return <td class={classOf(column)}>{content}</td>;
}

const classOf = ({ names, number, unseen }: Column<never>): string | undefined =>
  names === true ? 'pin-start' : unseen === true ? 'pin-end' : number === true ? 'number' : undefined;
