import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { KEYS } from '../src/domain/records/keys.ts';
import type { Declared } from '../src/domain/records/registry.ts';
import { HEAD_KEY } from '../src/store/port.ts';

/* The table of docs/ARCHITECTURE.md that has every kind of record. */

const BEGIN = '<!-- Written by `npm run docs` from src/domain/records. -->';
const END = '<!-- The end of what is written. -->';
const ARCHITECTURE = resolve(import.meta.dirname, '../docs/ARCHITECTURE.md');

/** The text of docs/ARCHITECTURE.md with the table as it is to be. */
export function architectureDocument(): string {
  const text = readFileSync(ARCHITECTURE, 'utf8');
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin === -1 || end < begin)
    throw new Error(`docs/ARCHITECTURE.md has no place for the table: ${BEGIN} … ${END}`);
  return `${text.slice(0, begin + BEGIN.length)}\n\n${table()}\n\n${text.slice(end)}`;
}

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
