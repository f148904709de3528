/**
 * Installs what package-lock.json names, where it is not there yet: `npm start`, `npm test` and their like run this
 * first. Plain JavaScript for the machine's own Node, 20 or newer, which package.json names by `$npm_node_execpath`: a
 * mere `node` would be the installed one. That one runs afterwards, once its checksum was compared.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import process from 'node:process';
import { NODE } from './node-checksum.mjs';

const ROOT = resolve(import.meta.dirname, '..');

/** The packages of a lock file; undefined where there is no such file. */
function packagesOf(lockFile) {
  try {
    return JSON.parse(readFileSync(join(ROOT, lockFile), 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/**
 * The reason for an installation, in words; undefined when every package is there. npm writes its own lock when it has
 * finished.
 */
function reason() {
  const wanted = packagesOf('package-lock.json');
  const installed = packagesOf('node_modules/.package-lock.json');
  if (!wanted) throw new Error('package-lock.json is missing or broken');
  if (!installed) return 'nothing is installed yet';
  if (!existsSync(NODE)) return 'the Node that Muster runs on is missing';
  for (const [place, { version, optional }] of Object.entries(wanted)) {
    // The packages of other platforms are in the lock and never installed.
    if (place === '' || (optional && !installed[place])) continue;
    if (installed[place]?.version !== version) return 'package-lock.json has changed';
  }
  return undefined;
}

/** npm itself runs on the machine's Node: the installed one is about to be replaced. */
function environment() {
  const own = join(ROOT, 'node_modules');
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !resolve(folder).startsWith(own));
  return { ...process.env, PATH: path.join(delimiter) };
}

function install() {
  const { status, stdout, stderr, error } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: ROOT,
    encoding: 'utf8',
    env: environment(),
    shell: process.platform === 'win32',
  });
  if (status === 0 && existsSync(NODE)) return;
  process.stderr.write(`${stdout ?? ''}${stderr ?? ''}${error ? `${error.message}\n` : ''}`);
  process.stderr.write(
    status === 0
      ? 'Installed, but without Node 24: npm was told not to run install scripts (ignore-scripts).\n'
      : 'Installing failed: npm ci.\n',
  );
  process.exitCode = 1;
}

const why = reason();
if (why !== undefined) {
  process.stdout.write(`Installing with npm ci (${why}); this takes a minute or so.\n`);
  install();
}
await import('./verify-node.mjs');
