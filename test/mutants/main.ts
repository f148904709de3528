import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import type { Mutant } from './mutant.ts';
import { MUTANTS } from './mutants.ts';
import { planted } from './planted.ts';

/*
 * `npm run test:mutants -- [TEXT…]`: plants each slip, or those whose name or file holds one of the texts, in a copy of
 * the tree and runs the tests that are related to the changed file, until one fails. The exit code is 1 when a slip
 * that some test caught before is caught by none, or by one that fails without it, too.
 */

const ROOT = resolve(import.meta.dirname, '../..');
/** A slip may make a test hang; the tests that are related to it take less on a slow machine. */
const RUN_MS_MAX = 900_000;
/** A test that hangs fails; whether it is the slip that holds it up is seen by running it without. */
const UNTIL_ONE_FAILS = ['--bail=1', '--testTimeout=60000', '--hookTimeout=60000', '--passWithNoTests'] as const;
/** vitest's own exit code when a test failed. */
const FAILED = 1;
/** Exit codes above it are those of a process that a signal ended. */
const SIGNALLED = 128;

/** Not the nightly group, which runs the same files for hours. */
const BY_PROJECT = ['--project=quick', '--project=rules'] as const;

type Verdict = 'caught' | 'survived' | 'known gap' | 'unfounded';

/** The files of git's work tree, changed or new ones included, with the packages linked. */
function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'muster-mutants-'));
  const { stdout } = run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], ROOT);
  for (const file of stdout.split('\0')) {
    if (file === '' || !existsSync(join(ROOT, file))) continue;
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(copy, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

function run(
  command: string,
  args: readonly string[],
  cwd: string,
): { readonly status: number; readonly stdout: string } {
  const { status, signal, stdout, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    timeout: RUN_MS_MAX,
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // A run that hangs is ended, and counts as a failure: the slip was noticed. One that somebody else ended says
  // nothing.
  const hung = error && 'code' in error && error.code === 'ETIMEDOUT';
  if (error && !hung) throw error;
  if (!hung && (signal !== null || (status ?? 0) > SIGNALLED)) throw new Error(`${command} was ended from outside.`);
  return { status: status ?? FAILED, stdout };
}

/** The files that failed, told by vitest's own lines; the first one ends the run. */
function failures(copy: string, args: readonly string[]): string[] {
  const vitest = ['vitest', ...args, ...UNTIL_ONE_FAILS, '--reporter=json', '--outputFile=mutant.json'];
  const report = join(copy, 'mutant.json');
  rmSync(report, { force: true });
  const { status } = run('npx', vitest, copy);
  if (status === 0) return [];
  if (!existsSync(report)) return ['(no report: the run hung or could not begin)'];
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: readonly { readonly name: string; readonly status: string }[];
  };
  const failed = testResults.filter((file) => file.status === 'failed').map(({ name }) => name.replace(`${copy}/`, ''));
  return failed.length > 0 ? [...new Set(failed)] : ['(an error outside of the tests)'];
}

/** First the tests that caught it before, then whatever else imports the file. */
function hunt(copy: string, mutant: Mutant): string[] {
  const likely = mutant.caughtBy.filter((file) => existsSync(join(copy, file)));
  const caught = likely.length > 0 ? failures(copy, ['run', ...BY_PROJECT, '--project=system', ...likely]) : [];
  if (caught.length > 0) return caught;
  return failures(copy, ['related', '--run', ...BY_PROJECT, mutant.file]);
}

/** Files that pass without any slip. */
const sound = new Set<string>();

/** Whether a file that failed passes without the slip: else its failure tells nothing. */
function isFounded(copy: string, [file]: readonly string[]): boolean {
  if (file === undefined || !existsSync(join(copy, file)) || sound.has(file)) return true;
  if (failures(copy, ['run', ...BY_PROJECT, '--project=system', file]).length > 0) return false;
  sound.add(file);
  return true;
}

function verdictOf(mutant: Mutant, caught: readonly string[], founded: boolean): Verdict {
  if (!founded) return 'unfounded';
  if (caught.length > 0) return 'caught';
  return mutant.caughtBy.length > 0 ? 'survived' : 'known gap';
}

function judge(copy: string, mutant: Mutant): Verdict {
  const place = join(copy, mutant.file);
  const whole = readFileSync(place, 'utf8');
  const startedAt = performance.now();
  writeFileSync(place, planted(mutant, whole));
  const caught = hunt(copy, mutant);
  writeFileSync(place, whole);
  const verdict = verdictOf(mutant, caught, isFounded(copy, caught));
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  process.stdout.write(`${verdict.padEnd(9)} ${seconds.padStart(4)} s  ${mutant.name}  ${caught.join(', ')}\n`);
  if (verdict === 'survived')
    process.stdout.write(`          ${mutant.rule} Caught before by ${mutant.caughtBy.join(', ')}\n`);
  return verdict;
}

const wanted = process.argv.slice(2);
const chosen = MUTANTS.filter(
  ({ name, file }) => wanted.length === 0 || wanted.some((text) => name.includes(text) || file.includes(text)),
);
const copy = copyTree();
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const verdicts = chosen.map((mutant) => judge(copy, mutant));
const count = (verdict: Verdict): number => verdicts.filter((one) => one === verdict).length;
const counts = (['caught', 'survived', 'unfounded', 'known gap'] as const).map(
  (verdict) => `${count(verdict)} ${verdict}`,
);
process.stdout.write(`${counts.join(', ')}\n`);
process.exitCode = chosen.length === 0 || count('survived') + count('unfounded') > 0 ? 1 : 0;
