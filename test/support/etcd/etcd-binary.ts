import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { toolsFolder } from '../run/tools-folder.ts';

const VERSION = '3.6.16';

/**
 * The etcd to test against: `MUSTER_TEST_ETCD`, or the one that .ci/build-etcd.sh built, or builds now where there is
 * Go. Undefined where none is to be had; in CI that is a failure, since a skipped test proves nothing.
 */
export function findEtcd(): string | undefined {
  const named = process.env['MUSTER_TEST_ETCD'];
  if (named) return named;
  const built = join(toolsFolder(), 'bin', `etcd-${VERSION}`);
  if (existsSync(built)) return built;
  try {
    const script = join(import.meta.dirname, '../../../.ci/build-etcd.sh');
    return execFileSync(script, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  } catch (error) {
    if (process.env['CI']) throw new Error('CI needs etcd: set MUSTER_TEST_ETCD, or install Go.', { cause: error });
    return undefined;
  }
}

/** Why the tests on etcd are skipped, to be printed where they are. */
export const NO_ETCD = `no etcd ${VERSION}: set MUSTER_TEST_ETCD, or put Go on the PATH and run .ci/build-etcd.sh`;
