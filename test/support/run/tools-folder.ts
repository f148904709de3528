import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/** The folder in which all that is built once for the tests lies, outside of the repository. */
export function toolsFolder(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return process.env['MUSTER_TOOLS'] || join(cache, 'muster');
}
