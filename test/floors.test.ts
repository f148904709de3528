import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const SRC = resolve(import.meta.dirname, '../src');

/** Which floor a file stands on: its folder in src, or `beside` for the files that lie there alone. */
const ROOTS = new Set([
  'main.ts',
  'run.ts',
  'service.ts',
  'core.ts',
  'all-metrics.ts',
  'listeners.ts',
  'services.ts',
  'operator.ts',
  'embedded-secrets.ts',
  'key-file.ts',
  'certificate-files.ts',
  'configured-store.ts',
]);
const floorOf = (path: string): string => {
  const place = relative(SRC, path);
  if (ROOTS.has(place)) return 'root';
  if (/^(?:[a-z]+-)?metrics(?:\.ts$|\/)/.test(place)) return 'metrics';
  return place.includes('/') ? (place.split('/')[0] ?? '') : 'beside';
};

/** Who may import whom: `api` and `controller` call `domain`, `domain` calls `store`, and nothing calls upward. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  cli: ['cli', 'root', 'domain', 'store', 'beside', 'metrics'],
  root: ['root', 'api', 'controller', 'domain', 'store', 'beside', 'metrics'],
  api: ['api', 'domain', 'store', 'beside', 'metrics'],
  controller: ['controller', 'domain', 'store', 'beside', 'metrics'],
  domain: ['domain', 'store', 'beside', 'metrics'],
  store: ['store', 'beside', 'metrics'],
  metrics: ['metrics'],
  beside: [],
};

interface Import {
  readonly from: string;
  readonly to: string;
}

function imports(): Import[] {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return files.flatMap((name) => {
    const from = join(SRC, name);
    const specifiers = readFileSync(from, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
    return [...specifiers].map(([, specifier = '']) => ({ from, to: resolve(dirname(from), specifier) }));
  });
}

test('nothing calls upward', () => {
  const all = imports();
  expect(all.length).toBeGreaterThan(100);
  const upward = all.filter(({ from, to }) => !MAY[floorOf(from)]?.includes(floorOf(to)));
  expect(upward.map(({ from, to }) => `${relative(SRC, from)} → ${relative(SRC, to)}`)).toEqual([]);
});

test('of the store, api, controller and cli know the port and what it throws', () => {
  const deep = imports().filter(
    ({ from, to }) =>
      ['api', 'controller', 'cli'].includes(floorOf(from)) && floorOf(to) === 'store' && !to.endsWith('/port.ts'),
  );
  expect(deep).toEqual([]);
});

test('only store/open.ts names the back-ends', () => {
  const named = imports().filter(({ to }) => /store\/(?:etcd|sqlite)\.ts$/.test(to));
  expect(named.map(({ from }) => relative(SRC, from))).toEqual(['store/open.ts', 'store/open.ts']);
});
