import { printable } from './printable.ts';

/**
 * Renders rows in columns for people; numbers stand to the right. It has no colour and no lines, since `awk` reads it,
 * too.
 */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const texts = [head, ...rows].map((row) => row.map((cell) => printable(String(cell))));
  const widths = head.map((_name, column) => Math.max(...texts.map((row) => (row[column] ?? '').length)));
  const numeric = head.map((_name, column) => rows.length > 0 && rows.every((row) => isNumeric(row[column])));
  const lines = texts.map((row) =>
    row
      .map((cell, column) => (numeric[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

const isNumeric = (cell: string | number | undefined): boolean => /^-?\d+(?:\.\d+)?$/.test(String(cell));
