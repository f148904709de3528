import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import * as z from 'zod';
import { buildPages } from './build-web.ts';
import { compile, declareClient } from './compile.ts';
import { packageBom } from './sbom.ts';
import { shrinkwrap } from './shrinkwrap.ts';

/*
 * `npm run pack [-- FOLDER]` makes the package @muster/muster: src and the client compiled to JavaScript, the pages
 * of the panel, the command, and the lock of its dependencies. It writes the tarball into the folder (dist-pack by
 * default), its bill of materials beside it (.cdx.json), and prints its path; nothing is published.
 * test/system/packages/package.test.ts installs it.
 */

const ROOT = resolve(import.meta.dirname, '..');
const NAME = '@muster/muster';

const own = z
  .object({ version: z.string(), description: z.string(), dependencies: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));

const destination = resolve(process.argv[2] ?? join(ROOT, 'dist-pack'));
const staged = mkdtempSync(join(tmpdir(), 'muster-pack-'));
try {
  compile(join(staged, 'dist'));
  declareClient(join(staged, 'dist'));
  cpSync(join(ROOT, 'bin'), join(staged, 'bin'), { recursive: true });
  cpSync(join(ROOT, 'docs/PACKAGE.md'), join(staged, 'README.md'));
  for (const name of ['CHANGELOG.md', 'LICENSE']) {
    if (existsSync(join(ROOT, name))) cpSync(join(ROOT, name), join(staged, name));
  }
  await buildPages();
  cpSync(join(ROOT, 'web/dist'), join(staged, 'dist/web/dist'), { recursive: true });
  const manifest = manifestOfPackage();
  writeJson(join(staged, 'package.json'), manifest);
  const lock = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  writeJson(join(staged, 'npm-shrinkwrap.json'), shrinkwrap(lock, manifest));
  mkdirSync(destination, { recursive: true });
  const tarball = join(destination, pack());
  writeJson(`${tarball}.cdx.json`, packageBom(staged, lock));
  process.stdout.write(`${tarball}\n`);
} finally {
  rmSync(staged, { recursive: true });
}

/** What npm is told: no script that runs at an installation, and none of what only the repository needs. */
function manifestOfPackage() {
  const client = './dist/clients/typescript/src/index';
  return {
    name: NAME,
    version: own.version,
    description: own.description,
    type: 'module',
    engines: { node: '>=24' },
    bin: { muster: 'bin/muster.mjs' },
    exports: {
      './client': { types: `${client}.d.ts`, default: `${client}.js` },
      './package.json': './package.json',
    },
    files: ['bin', 'dist', 'CHANGELOG.md', 'npm-shrinkwrap.json'],
    dependencies: own.dependencies,
  };
}

/** @returns the name of the tarball */
function pack(): string {
  const output = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', destination], {
    cwd: staged,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: process.platform === 'win32',
  });
  const packed = z.array(z.looseObject({ filename: z.string() })).min(1);
  return packed.parse(JSON.parse(output))[0]?.filename ?? '';
}

function writeJson(path: string, value: object): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
