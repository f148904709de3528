import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { csvRows } from '../../../src/text/csv-rows.ts';

export interface SavedCode {
  readonly number: number;
  readonly name: string;
  readonly appId: string;
  readonly enrollCode: string;
}

/** The rows of a file of codes, in the order of their numbers. */
export function savedCodes(path: string): SavedCode[] {
  const rows = [...csvRows(readFileSync(path, 'utf8'))].map(({ fields }) => fields);
  expect(rows[0]).toEqual(['number', 'name', 'appId', 'enrollCode', 'enrollCodeExpiresAt']);
  return rows
    .slice(1)
    .map(([number, name = '', appId = '', enrollCode = '']) => ({ number: Number(number), name, appId, enrollCode }))
    .toSorted((a, b) => a.number - b.number);
}
