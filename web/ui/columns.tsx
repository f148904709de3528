import { useId, useMemo, useRef, useState } from 'preact/hooks';
import { columnsMenu as texts } from '../text/columns.ts';
import type { Column } from './column.ts';
import { Button, Check } from './controls.tsx';
import { readKept, writeKept } from './kept.ts';
import { orderName } from './table-order.ts';

/*
 * The columns that a person wants of a table. They are a matter of the person's screen, so that the browser keeps them
 * and the address does not: a link shows the columns of whoever opens it.
 */

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

/** What names a row and what can be done with it is always shown. */
const isFixed = ({ names, unseen }: Column<never>): boolean => names === true || unseen === true;

/** The chosen columns of a table, from its name in the storage of the browser; all of them without a name. */
export function useColumns<Row>(table: string | undefined, columns: readonly Column<Row>[]): ChosenColumns<Row> {
  const [kept, setKept] = useState(() => (table === undefined ? undefined : readKept(table)));
  // What is kept are the differences from the columns of the first time: a column that is new is shown.
  const isShown = useMemo(() => {
    const differs = new Set(kept);
    return (column: Column<Row>): boolean =>
      isFixed(column) || (column.atFirst !== false) !== differs.has(orderName(column.name));
  }, [kept]);
  const shown = useMemo(() => columns.filter(isShown), [columns, isShown]);
  const store = (next: readonly string[]): void => {
    setKept(next);
    if (table !== undefined) writeKept(table, next);
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

/** The button that opens the list of columns. Escape or a press beside it closes the list, and the focus goes back. */
export function ColumnsMenu<Row>({ of, small = false }: { of: ChosenColumns<Row>; small?: boolean }) {
  const id = useId();
  const opener = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const { optional, isShown, show, reset } = of;
  const place = (menu: HTMLElement): void => {
    const button = opener.current?.getBoundingClientRect();
    if (!button) return;
    menu.style.top = `${Math.max(8, Math.min(button.bottom + 4, innerHeight - menu.offsetHeight - 8))}px`;
    menu.style.left = `${Math.max(8, Math.min(button.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8))}px`;
  };
  return (
    <div class="columns" ref={opener}>
      <Button small={small} icon="columns" popoverTarget={id}>
        {texts.columns}
      </Button>
      <div
        id={id}
        class="menu"
        popover="auto"
        role="group"
        aria-label={texts.columns}
        onBeforeToggle={({ newState }) => newState === 'open' && setOpen(true)}
        onToggle={({ currentTarget }) => {
          if (!currentTarget.matches(':popover-open')) {
            // Not before: the browser gives the focus back from what still stands in the list.
            return setOpen(false);
          }
          place(currentTarget);
          currentTarget.querySelector('input')?.focus();
        }}
      >
        {isOpen && (
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
      </div>
    </div>
  );
}
