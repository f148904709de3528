/**
 * Holds the Node that npm installs to a checksum of this repository. The package `node` fetches its binary by a script
 * of its own, which the lock file does not cover: without this, whatever the registry serves would run.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';

const ROOT = resolve(import.meta.dirname, '..');
/** The binary that npm installs, and that all runs on. */
export const NODE = join(ROOT, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node');

/**
 * Compares a binary with the checksum for a platform (`linux-x64`).
 * @returns what is wrong, in words; undefined where the checksum fits. `isKnown` is false where there is no checksum
 *   for that platform, as for those whose package could not be fetched when the list was made.
 */
export function nodeFault(binary, platform = `${process.platform}-${process.arch}`, known = checksums()) {
  const wanted = known.sha256[platform];
  if (wanted === undefined) {
    return {
      isKnown: false,
      says: `Node ${known.version} is not verified: scripts/node-checksums.json lacks ${platform}.`,
    };
  }
  const found = createHash('sha256').update(readFileSync(binary)).digest('hex');
  if (found === wanted) return undefined;
  return {
    isKnown: true,
    says: `${binary} is not the Node ${known.version} that scripts/node-checksums.json names (SHA-256 ${found}).`,
  };
}

/** @public test/repository/supply-chain.test.ts imports it by its path. */
export const checksums = () => JSON.parse(readFileSync(new URL('node-checksums.json', import.meta.url), 'utf8'));
