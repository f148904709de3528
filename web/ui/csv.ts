import { csvRow } from '../../src/text/csv.ts';

/** A CSV that the browser makes: every field is quoted, and none is a formula in a spreadsheet. */
export const csvFile = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [...[head, ...rows].map(csvRow), ''].join('\r\n');
