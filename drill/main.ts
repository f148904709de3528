import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { killAll } from '../test/support/run/guard.ts';
import { DRILL_NAMES, DRILLS, type DrillName } from './drills.ts';
import { drill, type Outcome } from './run.ts';
import { writeTable } from './table.ts';

/* `npm run drill -- NAME`: docs/DRILLS.md. */

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const [name = '', flag] = process.argv.slice(2);
const known = DRILL_NAMES.filter((one) => one === name || name === 'all');
if (known.length === 0 || (flag !== undefined && flag !== '--write')) {
  write('npm run drill -- NAME, or all; with --write after all, docs/DRILLS.md has the seconds.\n');
  for (const one of DRILL_NAMES) write(`${one.padEnd(18)}${DRILLS[one].fault}`);
  process.exitCode = name === '' || name === '--help' ? 0 : 2;
} else {
  leaveNothing();
  const outcomes = new Map<DrillName, Outcome>();
  for (const one of known) outcomes.set(one, await drill(one, write));
  if (flag === '--write' && name === 'all') await writeTable(outcomes);
}

/** All files of a drill and of its programs lie in one folder, which goes with this process, as the programs do. */
function leaveNothing(): void {
  const folder = mkdtempSync(join(tmpdir(), 'muster-drill-'));
  process.env['TMPDIR'] = folder;
  process.once('exit', () => {
    killAll();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }
}
