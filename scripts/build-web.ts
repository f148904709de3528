import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { build } from 'vite';
import { HELP } from '../web/shell/help-addresses.ts';
import { HELP_DOCUMENTS, helpPages } from './help-pages.ts';

/*
 * `npm run build:web` makes the panel's pages, and of the documents those of its help: web/dist. The same sources give
 * the same files, byte by byte, and a note beside them says which sources they were made of, so that `npm start` and
 * the tests build them only where they differ.
 */

const ROOT = resolve(import.meta.dirname, '..');
const DIST = join(ROOT, 'web/dist');
const NOTE = join(DIST, 'sources.sha256');
/** What the pages are made of: their own sources, and the rules of the service that run in the browser as well. */
const SOURCES = [
  'web/**/*.{ts,tsx,css,html}',
  'src/api/contract/**/*.ts',
  'src/domain/**/*.ts',
  'src/text/**/*.ts',
  'package-lock.json',
  'scripts/{build-web,help-pages}.ts',
  ...HELP_DOCUMENTS.map((name) => `docs/${name}`),
];

function sourcesDigest(): string {
  const digest = createHash('sha256');
  const files = SOURCES.flatMap((pattern) => globSync(pattern, { cwd: ROOT, exclude: ['web/dist/**'] })).sort();
  for (const file of files)
    digest
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0');
  return digest.digest('hex');
}

function isBuiltFrom(digest: string): boolean {
  try {
    return readFileSync(NOTE, 'utf8') === digest;
  } catch {
    return false;
  }
}

/** Builds the pages where they are not there, or were made of other sources. @returns whether it did */
export async function buildPages(options: { readonly always?: boolean } = {}): Promise<boolean> {
  const digest = sourcesDigest();
  if (options.always !== true && isBuiltFrom(digest)) return false;
  const { env } = process;
  const { NODE_ENV: before } = env;
  // A test runner sets another one, with which the build makes pages for debugging, that name this machine's paths.
  env['NODE_ENV'] = 'production';
  try {
    await build({ configFile: join(ROOT, 'web/vite.config.ts'), logLevel: 'warn', clearScreen: false });
  } finally {
    if (before === undefined) delete env['NODE_ENV'];
    else env['NODE_ENV'] = before;
  }
  writeHelp();
  writeFileSync(NOTE, digest);
  return true;
}

/** Writes the pages of the help beside those of the panel, whose style they have. */
function writeHelp(): void {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8');
  const linked = [...page.matchAll(/<link rel="(\w+)"[^>]* href="([^"]+)"/g)];
  const panel = (kind: string): string => linked.find(([, rel]) => rel === kind)?.[2] ?? '';
  const own = globSync('assets/help-*.css', { cwd: DIST }).map((path) => `/${path}`);
  const files = { stylesheets: [panel('stylesheet'), ...own], icon: panel('icon') };
  const documents = new Map(HELP_DOCUMENTS.map((name) => [name, readFileSync(join(ROOT, 'docs', name), 'utf8')]));
  mkdirSync(join(DIST, 'help'), { recursive: true });
  for (const [name, text] of helpPages(documents, files, Object.values(HELP)))
    writeFileSync(join(DIST, 'help', name), text);
}

if (process.argv[1] === import.meta.filename) await buildPages({ always: true });
