#!/usr/bin/env node
/**
 * The command `muster`. Plain JavaScript for the machine's own Node, 20 or newer: where that is no Node 24, what runs
 * is the Node 24 that is installed with Muster.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OWN = fileURLToPath(import.meta.url);
// A checkout has TypeScript; a package of npm and the image have JavaScript.
const MAIN = ['src/cli/main.ts', 'dist/src/cli/main.js'].map((path) => join(ROOT, path)).find(existsSync);
const NODE = join(ROOT, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node');
const NODE_MAJOR = 24;

// Node would open its inspector, through which whoever may signal the process would read every secret. A flag cannot
// stand in the first line: an older Node would refuse it.
process.on('SIGUSR1', () => undefined);

function runWith(node) {
  const child = spawn(node, ['--disable-sigusr1', OWN, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends its signals to both; what is sent to this process alone is passed on.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`muster: ${node} cannot be run: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
  });
}

function refuse() {
  const how = MAIN?.endsWith('.ts') ? ` Run \`npm ci\` in ${ROOT}, which installs it.` : '';
  process.stderr.write(
    `muster: Node ${NODE_MAJOR} or newer is needed, and this is Node ${process.versions.node}.${how}\n`,
  );
  process.exitCode = 1;
}

if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) {
  const { keepCompiled } = await import('./compile-cache.mjs');
  keepCompiled();
  await import(pathToFileURL(MAIN).href);
} else if (existsSync(NODE)) runWith(NODE);
else refuse();
