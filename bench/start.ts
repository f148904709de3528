import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/*
 * `npm run bench:start`: the processor time of `muster --help`, against a Node that does nothing in the same run; the
 * median of interleaved rounds. Linux tells the time of children that have ended.
 */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 25);
const WANTED_MS = 150;
const PROGRAM = join(import.meta.dirname, '../bin/muster.mjs');

/** Milliseconds of processor time of all children that have ended, in steps of 10 (proc_pid_stat(5), fields 16, 17). */
function childrenMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const TICKS_PER_SECOND = 100;
  return ((Number(fields[13]) + Number(fields[14])) * 1000) / TICKS_PER_SECOND;
}

function cpuMs(args: readonly string[], env: Readonly<Record<string, string>>): number {
  const before = childrenMs();
  const { status } = spawnSync(process.execPath, args, { env, stdio: 'ignore' });
  if (status !== 0) throw new Error(`node ${args.join(' ')}: exit code ${status}`);
  return childrenMs() - before;
}

/** The times are in steps, so that their mean tells more than their median: the middle half of them. */
function middle(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.slice(sorted.length >> 2, sorted.length - (sorted.length >> 2));
  return half.reduce((sum, value) => sum + value, 0) / half.length;
}

const home = mkdtempSync(join(tmpdir(), 'muster-bench-'));
try {
  const contenders: readonly [string, readonly string[], Record<string, string>][] = [
    ['node -e 0', ['-e', '0'], {}],
    ['muster --help, compiled before', [PROGRAM, '--help'], { HOME: home }],
    ['muster --help, without a cache', [PROGRAM, '--help'], { NODE_DISABLE_COMPILE_CACHE: '1' }],
    ['muster usage --help, compiled before', [PROGRAM, 'usage', '--help'], { HOME: home }],
  ];
  const rounds = new Map(contenders.map(([name]) => [name, [] as number[]]));
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [name, args, env] of contenders) {
      const ms = cpuMs(args, env);
      // The first round fills the cache.
      if (round >= 0) rounds.get(name)?.push(ms);
    }
  }
  const bare = middle(rounds.get('node -e 0') ?? []);
  process.stdout.write('| Start | ms of processor time | times a bare node |\n| --- | --- | --- |\n');
  for (const [name, times] of rounds) {
    const ms = middle(times);
    const missed = name.endsWith('before') && ms > WANTED_MS ? ` MISSED: ≤ ${WANTED_MS} ms` : '';
    process.stdout.write(`| ${name} | ${ms.toFixed(0)}${missed} | ${(ms / bare).toFixed(1)} |\n`);
  }
} finally {
  rmSync(home, { recursive: true });
}
