import { styleText } from 'node:util';
import { shown, type Column, type Tone } from './columns.ts';
import { cutTo, padTo, widthOf } from './width.ts';

/** The facts that a table depends on beside its items. */
interface Paper {
  /** Columns of the terminal; undefined where nothing is to be cut. */
  readonly columns: number | undefined;
  readonly colours: boolean;
  /** Milliseconds since 1970, from which instants are told. */
  readonly now: number;
}

interface Strip {
  readonly kind: Column<never>['kind'];
  readonly minor: boolean;
  readonly cells: readonly string[];
  readonly tones: readonly (Tone | undefined)[];
}

const GAP = 2;
/** No column of words becomes narrower. */
const TEXT_COLUMNS_MIN = 8;

/** Renders items in columns for people, with a line of titles, each line with its end. */
export function renderTable<Item>(columns: readonly Column<Item>[], items: readonly Item[], paper: Paper): string {
  const strips = columns.map((column) => ({
    kind: column.kind,
    minor: column.minor === true,
    cells: [column.head, ...items.map((item) => shown(column, item, paper.now))],
    tones: [undefined, ...items.map((item) => column.tone?.(item))],
  }));
  const fitting = withoutMinor(strips, paper.columns);
  const widths = cutWidths(fitting, paper.columns);
  return [undefined, ...items].map((_item, row) => lineOf(fitting, widths, row, paper.colours)).join('');
}

const naturalWidth = ({ cells }: Strip): number => cells.reduce((width, cell) => Math.max(width, widthOf(cell)), 0);
const total = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, GAP * Math.max(0, widths.length - 1));

function withoutMinor(strips: readonly Strip[], columns: number | undefined): readonly Strip[] {
  if (columns === undefined || total(strips.map(naturalWidth)) <= columns) return strips;
  const last = strips.findLastIndex(({ minor }) => minor);
  return last === -1 ? strips : withoutMinor(strips.toSpliced(last, 1), columns);
}

/** Takes from the widest column of words, until the table fits or none can give any more. */
function cutWidths(strips: readonly Strip[], columns: number | undefined): readonly number[] {
  const widths = strips.map(naturalWidth);
  if (columns === undefined) return widths;
  const least = strips.map(({ kind, cells }, at) =>
    kind === 'text' ? Math.min(widths[at] ?? 0, Math.max(TEXT_COLUMNS_MIN, widthOf(cells[0] ?? ''))) : widths[at],
  );
  // No loop over the length of a text: more than the whole terminal is not shown in any case.
  for (const [at, { kind }] of strips.entries()) {
    if (kind === 'text') widths[at] = Math.max(least[at] ?? 0, Math.min(widths[at] ?? 0, columns));
  }
  for (let over = total(widths) - columns; over > 0; over -= 1) {
    const spare = widths.map((width, at) => (width > (least[at] ?? 0) ? width : 0));
    const widest = spare.indexOf(Math.max(...spare));
    if ((spare[widest] ?? 0) === 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function lineOf(strips: readonly Strip[], widths: readonly number[], row: number, colours: boolean): string {
  const cells = strips.map(({ kind, cells, tones }, at) => {
    const width = widths[at] ?? 0;
    const text = cutTo(cells[row] ?? '', Math.max(1, width));
    const isLast = at === strips.length - 1;
    const padded = kind === 'number' ? padTo(text, width, 'right') : isLast ? text : padTo(text, width, 'left');
    return colours ? coloured(padded, row === 0 ? 'head' : tones[row]) : padded;
  });
  return `${cells.join(' '.repeat(GAP))}\n`;
}

const STYLES = { head: 'bold', good: 'green', bad: 'red', faint: 'dim' } as const;

const coloured = (text: string, tone: Tone | 'head' | undefined): string =>
  tone === undefined ? text : styleText(STYLES[tone], text, { validateStream: false });
