import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { ROOT, withoutComments } from './source-tree.ts';

/* Exports that no other file imports: what the file has for itself alone is no part of what it offers. */

const FILES = '{src,clients,web,scripts,bench,test}/**/*.{ts,tsx,mts,mjs}';
/** What package.json gives another name. */
const ALIASES: Readonly<Record<string, string>> = { '#client': 'clients/typescript/src/index.ts' };
/** The files whose exports something else takes. */
const ENTRIES = new Set([
  'clients/typescript/src/index.ts',
  // Stands in the place of `node:url` in the bundle of the panel.
  'web/api/node-url.ts',
]);

const FROM = /\b(?:import|export)\s+(?:type\s+)?(\*|\{[^}]*\}|\w+)[^;']*?\sfrom\s+'([^']+)'/g;
const LOADED = /\bimport\(\s*'([^']+)'\s*\)\)?(?:\.(\w+))?/g;
const EXPORTED =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;

/** @returns `file: name` of each export that is used in its own file alone, with paths relative to the repository */
export function unusedExports(): readonly string[] {
  const files = globSync(FILES, { cwd: ROOT, exclude: ['**/node_modules/**', '**/dist/**'] });
  const texts = new Map(files.map((path) => [path, withoutComments(readFileSync(join(ROOT, path), 'utf8'))]));
  const used = new Set([...texts].flatMap(([path, text]) => importsIn(path, text)));
  return [...texts]
    .filter(([path]) => !ENTRIES.has(path) && !path.includes('/generated/') && !/\.d\.ts$|\.mjs$/.test(path))
    .flatMap(([path, text]) => [...text.matchAll(EXPORTED)].map(([, name = '']) => ({ path, name })))
    .filter(({ path, name }) => !used.has(`${path}: ${name}`) && !used.has(`${path}: *`))
    .map(({ path, name }) => `${path}: ${name}`)
    .toSorted();
}

/** `file: name` of all that a file takes from others; `*` is all of it. */
function importsIn(path: string, text: string): readonly string[] {
  const at = (from: string): string => ALIASES[from] ?? relative('/', resolve('/', dirname(path), from));
  const named = [...text.matchAll(FROM)].flatMap(([, what = '', from = '']) =>
    namesIn(what).map((name) => `${at(from)}: ${name}`),
  );
  const loaded = [...text.matchAll(LOADED)].map(([, from = '', name = '*']) => `${at(from)}: ${name}`);
  return [...named, ...loaded];
}

const namesIn = (what: string): readonly string[] =>
  what === '*'
    ? ['*']
    : what
        .replaceAll(/[{}]/g, '')
        .split(',')
        .map((one) => /^(?:type\s+)?([\w*]+)/.exec(one.trim())?.[1] ?? '');
