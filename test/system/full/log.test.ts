import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';

/** Every write to it fails as on a full disk. */
const FULL = '/dev/full';
const LOG = join(import.meta.dirname, '../../../src/log.ts');
const PROGRAM = `
  const { createLog } = await import(${JSON.stringify(LOG)});
  const log = createLog('info');
  for (let line = 0; line < 20_000; line += 1) log.info({ line, text: 'x'.repeat(100) }, 'a line');
  process.stderr.write('went on');
`;

test.skipIf(!existsSync(FULL))('a log on a full disk does not end the process, and takes no more memory', () => {
  const full = openSync(FULL, 'w');
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
    // Only for a process that never ends: a verdict that it did is the same on any machine.
    timeout: 120_000,
  });
  closeSync(full);
  expect({ status, stderr }).toEqual({ status: 0, stderr: 'went on' });
});

test.each([
  ['its work is done', ''],
  ['it ends itself', 'process.exit(3);'],
])('what a log left out is told where %s within the second', (_, end) => {
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', PROGRAM + end], {
    stdio: ['ignore', 'pipe', 'ignore'],
    encoding: 'utf8',
    maxBuffer: Number.POSITIVE_INFINITY,
    timeout: 120_000,
  });
  const lines = stdout.trim().split('\n');
  const told = lines.map((line) => (JSON.parse(line) as { leftOut?: number }).leftOut ?? 0);
  const leftOut = told.reduce((sum, count) => sum + count, 0);
  expect(leftOut + told.filter((count) => count === 0).length).toBe(20_000);
  expect(lines.length).toBeLessThan(1000);
});

const APPENDING = `
  const { createLog, LogOutput } = await import(${JSON.stringify(LOG)});
  const output = new LogOutput();
  const log = createLog('info', output, { sampling: { clock: { monotonic: () => performance.now() }, linesPerSecond: Infinity } });
  // A service goes on while lines wait.
  const running = setInterval(() => undefined, 1000);
  const { signal } = new AbortController();
  let written = 0;
  for (let line = 0; line < 300; line += 1) {
    log.info({ line }, 'a line');
    // Longer than a pipe takes at once.
    const appended = output.append(JSON.stringify({ audit: line, text: 'y'.repeat(100_000) }) + '\\n', signal);
    log.info({ line }, 'another line');
    await appended;
    written += 1;
  }
  log.info({ written }, 'all are written');
  clearInterval(running);
`;

test('lines that are waited for are all written, whole and in their order, between those of the log', () => {
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', APPENDING], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: Number.POSITIVE_INFINITY,
    timeout: 120_000,
  });
  const lines = stdout.trim().split('\n');
  const parsed = lines.map((line) => JSON.parse(line) as { audit?: number; written?: number });
  const numbers = parsed.flatMap(({ audit }) => (audit === undefined ? [] : [audit]));
  expect(status).toBe(0);
  expect(numbers).toEqual(Array.from({ length: 300 }, (_, line) => line));
  expect(parsed.at(-1)?.written).toBe(300);
});
