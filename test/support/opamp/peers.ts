import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { toolsFolder } from '../run/tools-folder.ts';

/* The programs of others that speak OpAMP, as .ci/build-opamp.sh builds and names them. */

const SCRIPT = join(import.meta.dirname, '../../../.ci/build-opamp.sh');
const version = (name: string): string =>
  new RegExp(`^${name}=(.+)$`, 'm').exec(readFileSync(SCRIPT, 'utf8'))?.[1] ?? '';

/** The version of the supervisor and of its collector. */
const COLLECTOR_VERSION = version('version');
/** The version of the client library for Python. */
const CLIENT_VERSION = version('client');

/** The supervisor and the collector: programs of others, by their paths. */
export interface CollectorPrograms {
  readonly supervisor: string;
  readonly collector: string;
}

/**
 * The supervisor and the collector, where they were built; undefined elsewhere, which is a failure in CI. They are not
 * built in passing: the first build takes minutes.
 * @throws Error in CI, where they are missing
 */
export function findCollector(): CollectorPrograms | undefined {
  const [supervisor = '', collector = ''] = ['opampsupervisor', 'otelcol'].map((name) =>
    join(toolsFolder(), 'bin', `${name}-${COLLECTOR_VERSION}`),
  );
  if (existsSync(supervisor) && existsSync(collector)) return { supervisor, collector };
  if (process.env['CI']) throw new Error('CI needs the supervisor of the collector: .ci/build-opamp.sh collector.');
  return undefined;
}

/** Why the tests of the supervisor are skipped, to be printed where they are. */
export const NO_COLLECTOR = `no opampsupervisor ${COLLECTOR_VERSION}: put Go on the PATH, and run .ci/build-opamp.sh collector`;

/**
 * The Python that has the client library; undefined where none is to be had.
 * @throws Error in CI, where it cannot be installed
 */
export function findPythonClient(): string | undefined {
  const built = join(toolsFolder(), `opamp-client-${CLIENT_VERSION}`, 'bin/python');
  if (existsSync(built)) return built;
  try {
    return execFileSync(SCRIPT, ['python'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  } catch (error) {
    if (process.env['CI']) throw new Error('CI needs the OpAMP client: Python 3 with its venv.', { cause: error });
    return undefined;
  }
}

/** Why the tests of the client for Python are skipped, to be printed where they are. */
export const NO_PYTHON_CLIENT = `no opentelemetry-opamp-client ${CLIENT_VERSION}: install Python 3 with its venv, and run .ci/build-opamp.sh python`;
