import { KEYS } from '../src/domain/records/keys.ts';
import type { Declared } from '../src/domain/records/registry.ts';
import { HEAD_KEY } from '../src/store/port.ts';
import { withSections } from './written-section.ts';

/* The table of docs/ARCHITECTURE.md that has every kind of record. */

/** The text of docs/ARCHITECTURE.md with the table as it is to be. */
export const architectureDocument = (): string =>
  withSections('ARCHITECTURE.md', [{ source: 'src/domain/records', content: table() }]);

function endOf({ ownedBy, outlives, removedBy }: Declared): string {
  if (ownedBy !== undefined) return `; removed with its ${ownedBy}`;
  if (outlives !== undefined) return `; it stays: ${outlives}`;
  return removedBy === undefined ? '' : `; removed by ${removedBy}`;
}

function table(): string {
  const rows = Object.values<Declared>(KEYS).map((kind) => [kind.pattern, `${kind.holds}${endOf(kind)}`] as const);
  const head = [HEAD_KEY, 'epoch id and newest instant of the last commits that were not quiet; the store writes it'];
  const lines = [head, ...rows].map(([key, holds]) => `| \`${key}\` | ${holds} |`);
  return ['| Key | What it holds |', '| --- | --- |', ...lines].join('\n');
}
