import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import * as z from 'zod';

/*
 * `node scripts/compile.ts FOLDER` makes JavaScript of src and of the client, for the image (deploy/Dockerfile): a
 * start would otherwise strip the types of more than 500 files first. `bin/muster.mjs` runs it where there is no src.
 */

const ROOT = resolve(import.meta.dirname, '..');
const own = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));

/** What the reference page is made of, with its licences (Apache-2.0, section 4). */
const SWAGGER_UI = ['swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'swagger-ui.css', 'LICENSE', 'NOTICE'];

/**
 * Compiles src and the client into the folder, beside the other files of src and those of Swagger UI, and with a
 * package.json of its own.
 */
export function compile(dist: string): void {
  tsc('-p', join(ROOT, 'tsconfig.build.json'), '--outDir', dist);
  for (const file of globSync('src/**/*.{html,css,js,svg}', { cwd: ROOT })) {
    mkdirSync(dirname(join(dist, file)), { recursive: true });
    cpSync(join(ROOT, file), join(dist, file));
  }
  for (const file of SWAGGER_UI) {
    cpSync(join(ROOT, 'node_modules/swagger-ui-dist', file), join(dist, 'src/api/openapi/page/swagger-ui', file));
  }
  // It stands where package.json of the repository stands beside src: src/version.ts reads it, and Node the imports.
  const manifest = {
    type: 'module',
    version: own.version,
    imports: { '#client': './clients/typescript/src/index.js' },
  };
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Writes the declarations of the client beside its JavaScript: a user imports no other module of the package. */
export const declareClient = (dist: string): void =>
  tsc(
    '-p',
    join(ROOT, 'clients/typescript'),
    '--emitDeclarationOnly',
    '--outDir',
    join(dist, 'clients/typescript/src'),
  );

function tsc(...settings: readonly string[]): void {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, ...settings], { stdio: ['ignore', 2, 'inherit'] });
}

if (process.argv[1] === import.meta.filename) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('name the folder: node scripts/compile.ts FOLDER');
  compile(resolve(folder));
}
