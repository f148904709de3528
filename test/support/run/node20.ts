import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { toolsFolder } from './tools-folder.ts';

/** Why a test on it is skipped where there is none; in CI it must be there. */
export const NO_NODE20 = 'no Node 20: run .ci/node20.sh, or set MUSTER_TEST_NODE20 to one';

/** A Node 20 of this machine, which most have beside the one that npm installs. */
export async function findNode20(): Promise<string | undefined> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  const places = [
    process.env['MUSTER_TEST_NODE20'],
    join(toolsFolder(), 'bin/node-20'),
    ...[...folders, '/usr/bin', '/usr/local/bin'].map((one) => join(one, 'node')),
  ];
  for (const place of new Set(places)) {
    if (place === undefined || !existsSync(place)) continue;
    const { stdout } = await promisify(execFile)(place, ['--version']).catch(() => ({ stdout: '' }));
    if (stdout.startsWith('v20.')) return place;
  }
  return undefined;
}
