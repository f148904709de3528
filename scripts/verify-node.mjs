/**
 * Removes an installed Node that is another one than this repository names, before anything runs on it. npm runs this
 * after every installation, and `scripts/install.mjs` before every script.
 */
import { existsSync, rmSync } from 'node:fs';
import process from 'node:process';
import { NODE, nodeFault } from './node-checksum.mjs';

const fault = existsSync(NODE) ? nodeFault(NODE) : undefined;
if (fault) process.stderr.write(`${fault.says}\n`);
if (fault?.isKnown) {
  rmSync(NODE);
  process.exitCode = 1;
}
