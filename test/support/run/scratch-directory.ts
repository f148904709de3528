import { existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** A container may have a few megabytes there, which one file of tests would fill. */
const FREE_BYTES_MIN = 2 ** 30;

/**
 * A new, empty directory for a store whose test is not about the disk: in memory where the machine has room there,
 * since a store that syncs each commit to a disk waits for whatever else is written there.
 * @param name the beginning of its name
 */
export const scratchDirectory = (name: string): string => mkdtempSync(join(ROOT, `${name}-`));

const ROOT = hasRoom(MEMORY) ? MEMORY : tmpdir();

function hasRoom(directory: string): boolean {
  if (!existsSync(directory)) return false;
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize >= FREE_BYTES_MIN;
}
