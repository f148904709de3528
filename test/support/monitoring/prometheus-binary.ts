import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The programs of Debian's package `prometheus`. */
interface PrometheusBinaries {
  readonly prometheus: string;
  readonly promtool: string;
}

/**
 * The Prometheus to test against, from the PATH. Undefined where there is none; in CI that is a failure, since a
 * skipped test proves nothing.
 */
export function findPrometheus(): PrometheusBinaries | undefined {
  const [prometheus, promtool] = [onPath('prometheus'), onPath('promtool')];
  if (prometheus !== undefined && promtool !== undefined) return { prometheus, promtool };
  if (process.env['CI']) throw new Error('CI needs prometheus and promtool: apt-get install prometheus.');
  return undefined;
}

/** Why the tests on Prometheus are skipped, to be printed where they are. */
export const NO_PROMETHEUS = 'no prometheus and promtool on the PATH: apt-get install prometheus';

function onPath(name: string): string | undefined {
  const paths = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
