import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ERRORS } from '../../src/api/http/errors.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { HEAD_KEY } from '../../src/store/port.ts';
import { cataloguedSeries } from '../support/monitoring/metrics-catalogue.ts';

/* What the documents say of errors, metrics and keys is what the code has. */

const ROOT = resolve(import.meta.dirname, '../..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const readme = textOf('README.md');
const architecture = textOf('docs/ARCHITECTURE.md');

const DOCUMENTS = [
  'README.md',
  'CHANGELOG.md',
  'docs/ARCHITECTURE.md',
  'docs/INSTALL.md',
  'charts/muster/README.md',
  'docs/COMPOSE.md',
  'docs/METRICS.md',
  'docs/KUBERNETES.md',
  'docs/RUNBOOK.md',
  ...readdirSync(join(ROOT, 'docs/adr')).map((name) => `docs/adr/${name}`),
];

/** The cells of every table row whose first cell begins with a code span. */
function rows(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('| `'));
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const codesIn = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

test('the README has every error with its status, and no other', () => {
  const told = rows(readme).filter(([, status = '']) => /^[45]\d\d$/.test(status));
  const errors = Object.entries(ERRORS).map(([code, { status }]) => `${code} ${status}`);
  expect(told.map(([code, status = '']) => `${codesIn(code).join(' ')} ${status}`).sort()).toEqual(errors.sort());
});

test('every metric that the documents name exists', () => {
  const exist = new Set(cataloguedSeries().map(({ name }) => name));
  const named = DOCUMENTS.flatMap((path) =>
    [...textOf(path).matchAll(/`(muster_[a-z_]+)`/g)].map(([, name = '']) => name),
  );
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !exist.has(name))).toEqual([]);
});

test('the map of ARCHITECTURE.md has every key of the store', () => {
  // `<accountId>` in the map and any argument in the code stand for the same.
  const ANY = '*';
  const mapped = rows(architecture).map(([key]) => codesIn(key)[0]?.replaceAll(/<[^>]+>/g, ANY) ?? '');
  const keys = Object.values(KEYS).map((key) => {
    if (typeof key === 'string') return key;
    const make = key as (...parts: string[]) => string;
    return make(ANY, ANY, ANY).replace(ANY.padStart(9, '0'), ANY);
  });
  expect(keys.length).toBeGreaterThan(20);
  // A key of the code may be the prefix of others.
  expect([HEAD_KEY, ...keys].filter((key) => !mapped.some((row) => row.startsWith(key)))).toEqual([]);
});

describe('every relative link leads somewhere', () => {
  test.each(DOCUMENTS)('%s', (path) => {
    const links = [...textOf(path).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, target = '']) => target);
    const relative = links.filter((target) => !/^[a-z]+:/.test(target));
    expect(relative.filter((target) => !existsSync(join(ROOT, dirname(path), target)))).toEqual([]);
  });
});
