import { options } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

/* The rows of a long table that are in sight: hundreds of them would make a page slow. */

/** Rows beyond the edges, so that a quick scroll shows no gap. */
const MARGIN = 12;

export const Space = ({ rows, columns }: { rows: number; columns: number }) =>
  rows <= 0 ? null : (
    <tr class="space" aria-hidden="true">
      <td colSpan={columns} style={{ height: `calc(${rows} * var(--row))` }} />
    </tr>
  );

/** Renders what changes before it returns: a browser lays paper out as soon as its listeners have returned. */
function atOnce(change: () => void): void {
  const before = { ...options };
  options.debounceRendering = (render) => render();
  change();
  Object.assign(options, { debounceRendering: undefined }, before);
}

/** The height of a row in pixels, as `--row` has it in rem: on a phone a row is higher. */
function rowHeight(scroller: HTMLElement): number {
  const rows = scroller.querySelector('tbody') ?? scroller;
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return rem * Number.parseFloat(getComputedStyle(rows).getPropertyValue('--row'));
}

/** Tells whether the page is being printed: on paper every row is in sight. */
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

/** The rows from `first` to before `last`; all of them on paper. @param count of all rows; 0 where each is shown */
export function useRowsInSight(
  scroller: { current: HTMLDivElement | null },
  count: number,
): { first: number; last: number } {
  const [range, setRange] = useState({ first: 0, last: 40 });
  const isPrinted = useIsPrinted();
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || count === 0) return undefined;
    const see = (): void => {
      const row = rowHeight(element);
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
