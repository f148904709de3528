import { execFile, execFileSync, type ExecFileException } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { pathOf, type ApiName } from '../openapi/documents.ts';
import { toolsFolder } from '../run/tools-folder.ts';
import { KEY_FILE_TEXT } from '../service/muster.ts';
import { MusterProcess } from '../service/muster-process.ts';
import { targets } from './targets.ts';

/* schemathesis against a service in a process of its own, whose rate window admits everything. */

const VERSION = '4.32.5';
const SERVE = join(import.meta.dirname, 'serve.ts');

/** The Python that has the fuzzer and the second linter; undefined where none is to be had. In CI that is a failure. */
export function findSchemathesis(): string | undefined {
  const built = join(toolsFolder(), `schemathesis-${VERSION}`, 'bin/python');
  if (existsSync(built)) return built;
  try {
    const script = join(import.meta.dirname, '../../../.ci/build-schemathesis.sh');
    return execFileSync(script, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  } catch (error) {
    if (process.env['CI']) throw new Error('CI needs schemathesis: Python 3 with its venv.', { cause: error });
    return undefined;
  }
}

/** Why the tests are skipped, to be printed where they are. */
export const NO_SCHEMATHESIS = `no schemathesis ${VERSION}: install Python 3 with its venv, and run .ci/build-schemathesis.sh`;

interface FuzzOptions {
  readonly python: string;
  /** Further variables; the store is a fresh embedded one without `MUSTER_STORE`. */
  readonly env: Readonly<Record<string, string>>;
  readonly seconds: number;
  readonly seed: number;
}

interface Fuzzed {
  /** Of schemathesis; 0 where it found nothing. */
  readonly exitCode: number;
  /** What it printed. */
  readonly report: string;
  /** The lines of the service's log by which a person must act. */
  readonly errors: readonly string[];
}

/** Fuzzes one document for a time. */
export async function fuzz(name: ApiName, { python, env, seconds, seed }: FuzzOptions): Promise<Fuzzed> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-fuzz-'));
  try {
    writeFileSync(join(folder, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
    const settings = {
      MUSTER_DATA_DIR: folder,
      MUSTER_KEY_FILE: join(folder, 'keys'),
      MUSTER_DEVICE_RATE_PER_MINUTE: '100000',
      ...env,
    };
    await using muster = await MusterProcess.start(settings, SERVE);
    const { url, secret, ids } = (await targets(muster))[name];
    const config = join(import.meta.dirname, 'schemathesis.toml');
    const words = ['-m', 'schemathesis.cli', '--config-file', config, 'run', pathOf(name), '--url', url];
    const more = ['--no-color', '--continue-on-failure', '--no-shrink', '--generation-database', 'none'];
    const given = {
      PATH: process.env['PATH'],
      PYTHONPATH: import.meta.dirname,
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONIOENCODING: 'utf-8',
      SCHEMATHESIS_HOOKS: 'hooks',
      FUZZ_SECRET: secret,
      FUZZ_IDS: JSON.stringify(ids),
    };
    const { exitCode, report } = await new Promise<Pick<Fuzzed, 'exitCode' | 'report'>>((resolve) => {
      const times = ['--max-time', String(seconds), '--seed', String(seed)];
      const options = { cwd: folder, env: given, maxBuffer: 2 ** 26 };
      execFile(python, [...words, ...times, ...more], options, (error: ExecFileException | null, stdout, stderr) =>
        resolve({ exitCode: error === null ? 0 : Number(error.code ?? -1), report: stdout + stderr }),
      );
    });
    // A machine that stands still for seconds is an outage of the store, which is documented.
    const errors = muster.logged.filter((line) => line.includes('"level":"error"') && !line.includes('timeout'));
    return { exitCode, report, errors };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
