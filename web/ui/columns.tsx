import { useMemo, useState } from 'preact/hooks';
import { columnsMenu as texts } from '../text/columns.ts';
import type { Column } from './column.ts';
import { Button, Check } from './controls.tsx';
import { browserKeeps } from './kept.ts';
import { Popover } from './popover.tsx';
import { orderName } from './table-order.ts';

/*
 * The columns that a person wants of a table. They are a matter of the person's screen, so that the browser keeps them
 * and the address does not: a link shows the columns of whoever opens it.
 */

const nameOf = (table: string): string => `muster-columns-${table}`;

/** Longer texts are of another program. */
const KEPT_MAX = 2000;

const keptColumns = (table: string): readonly string[] =>
  (browserKeeps.read(nameOf(table)) ?? '')
    .slice(0, KEPT_MAX)
    .split(' ')
    .filter((name) => name !== '');

/** A table with more columns than these lets one choose. */
export const COLUMNS_FEW = 5;

interface ChosenColumns<Row> {
  readonly all: readonly Column<Row>[];
  readonly shown: readonly Column<Row>[];
  /** Those that can be left out. */
  readonly optional: readonly Column<Row>[];
  readonly isShown: (column: Column<Row>) => boolean;
  readonly show: (column: Column<Row>, isShown: boolean) => void;
  /** Shows the columns that are shown at first; undefined where these are shown. */
  readonly reset: (() => void) | undefined;
}

/** The column that names a row, and the one with its actions, are always shown. */
const isFixed = ({ names, unseen }: Column<never>): boolean => names === true || unseen === true;

/** The chosen columns of a table, from its name in the storage of the browser; all of them without a name. */
export function useColumns<Row>(table: string | undefined, columns: readonly Column<Row>[]): ChosenColumns<Row> {
  const [kept, setKept] = useState(() => (table === undefined ? undefined : keptColumns(table)));
  // Only the differences from the columns of the first time are kept: a column that is new is shown.
  const isShown = useMemo(() => {
    const differs = new Set(kept);
    return (column: Column<Row>): boolean =>
      isFixed(column) || (column.atFirst !== false) !== differs.has(orderName(column.name));
  }, [kept]);
  const shown = useMemo(() => columns.filter(isShown), [columns, isShown]);
  const store = (next: readonly string[]): void => {
    setKept(next);
    if (table !== undefined) browserKeeps.write(nameOf(table), next.length === 0 ? undefined : next.join(' '));
  };
  const show = (column: Column<Row>, wanted: boolean): void => {
    const name = orderName(column.name);
    const others = (kept ?? []).filter((other) => other !== name);
    store(wanted === (column.atFirst !== false) ? others : [...others, name]);
  };
  const optional = columns.filter((column) => !isFixed(column));
  const isChanged = optional.some((column) => isShown(column) !== (column.atFirst !== false));
  return { all: columns, shown, optional, isShown, show, reset: isChanged ? () => store([]) : undefined };
}

/** The button that opens the list of columns. */
export function ColumnsMenu<Row>({ of, small = false }: { of: ChosenColumns<Row>; small?: boolean }) {
  const { optional, isShown, show, reset } = of;
  return (
    <Popover small={small} icon="columns" label={texts.columns} role="group" heard={texts.columns} first="input">
      {() => (
        <>
          {optional.map((column) => (
            <Check
              key={column.name}
              label={column.name}
              checked={isShown(column)}
              onValue={(wanted) => show(column, wanted)}
            />
          ))}
          <Button small kind="quiet" aria-disabled={reset === undefined} onClick={reset}>
            {texts.reset}
          </Button>
        </>
      )}
    </Popover>
  );
}
