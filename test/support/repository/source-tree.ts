import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../../..');

/** A file of `src` and what it imports. Paths are relative to `src`. */
interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  /** The files of `src` that it imports or exports from, `import type` counted. */
  readonly imports: readonly string[];
  /** The packages and modules of Node.js that it imports, `import type` counted. */
  readonly packages: readonly string[];
  /** The packages of which it takes more than types. */
  readonly runs: readonly string[];
}

const IMPORT = /^\s*(?:import|export)\s+(type\s)?(?:[^;']*?\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

/** Every file of `src`. */
export const sourceTree = (): readonly SourceFile[] => treeOf('src');

/** Every file of the client for TypeScript; its paths are relative to the client's own `src`. */
export const clientTree = (): readonly SourceFile[] => treeOf('clients/typescript/src');

/** Every file of a folder; its paths are relative to the folder. */
export function treeOf(folder: string, files = '**/*.{ts,tsx}'): readonly SourceFile[] {
  return globSync(files, { cwd: join(ROOT, folder), exclude: ['**/node_modules/**', '**/dist/**'] })
    .toSorted()
    .map((path) => {
      const text = readFileSync(join(ROOT, folder, path), 'utf8');
      return { path, text, lines: text.trimEnd().split('\n').length, ...importsOf(path, text) };
    });
}

/** The paths of every TypeScript file of `test`, with `test/` before them. */
export const testTree = (): readonly string[] => globSync('test/**/*.ts', { cwd: ROOT });

/** @param path of the file that imports, relative to `src` */
export function importsOf(path: string, text: string): Pick<SourceFile, 'imports' | 'packages' | 'runs'> {
  const found = [...withoutComments(text).matchAll(IMPORT)].map(([, type, named, loaded]) => ({
    specifier: named ?? loaded ?? '',
    isType: type !== undefined,
  }));
  const [own, foreign] = [found.filter(isRelative), found.filter((one) => !isRelative(one))];
  return {
    imports: own.map(({ specifier }) => relative('/', resolve('/', dirname(path), specifier))),
    packages: foreign.map(({ specifier }) => specifier),
    runs: foreign.filter(({ isType }) => !isType).map(({ specifier }) => specifier),
  };
}

const isRelative = ({ specifier }: { readonly specifier: string }): boolean => specifier.startsWith('.');

const STRING_OR_COMMENT = /'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`|\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

/** Comments may name anything; a code that they hold is no code. Lines stay lines, and strings such as globs stay. */
export const withoutComments = (text: string): string =>
  text.replaceAll(STRING_OR_COMMENT, (found) =>
    /^['`]/.test(found) ? found : '\n'.repeat(found.split('\n').length - 1),
  );

/** The folder of a file; a file that lies loose in `src`, and each of the two of `domain`, is a room of its own. */
export function roomOf(path: string): string {
  const folder = dirname(path);
  return folder === '.' || folder === 'domain' ? path : folder;
}

/** Groups of files that import each other in a circle, each in the order in which it was found. */
export function circles(tree: readonly Pick<SourceFile, 'path' | 'imports'>[]): readonly string[][] {
  const importsOfFile = new Map(tree.map(({ path, imports }) => [path, imports]));
  const done = new Set<string>();
  const found: string[][] = [];
  const walk = (path: string, way: readonly string[]): void => {
    const at = way.indexOf(path);
    if (at !== -1) found.push([...way.slice(at), path]);
    if (at !== -1 || done.has(path)) return;
    for (const next of importsOfFile.get(path) ?? []) walk(next, [...way, path]);
    done.add(path);
  };
  for (const { path } of tree) walk(path, []);
  return found;
}
