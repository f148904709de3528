import { accessSync, constants } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError, type Config } from '../config/config.ts';
import { makeDirectories } from './files/directories.ts';

function makeWritable(directory: string): void {
  makeDirectories(directory);
  accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
}

const NOT_A_DIRECTORY = 'is a file, or lies in one: name a directory';
const NOT_ALLOWED = 'may not be written by this user: change its owner or its mode, or name another directory';
const TROUBLE: Readonly<Record<string, string>> = {
  EEXIST: NOT_A_DIRECTORY,
  ENOTDIR: NOT_A_DIRECTORY,
  EACCES: NOT_ALLOWED,
  EPERM: NOT_ALLOWED,
  EROFS: 'lies on a read-only file system: mount it writable, or name another directory',
};

/**
 * Makes the directories of an embedded store, if need be.
 * @throws ConfigError that names the variable, and says what to do, where one of them cannot be written
 */
export function prepareDataDirectory(
  { store, dataDir, operatorTokens, files }: Pick<Config, 'store' | 'dataDir' | 'operatorTokens' | 'files'>,
  make: (directory: string) => void = makeWritable,
): void {
  if (store.kind !== 'sqlite') return;
  const [ofData, ofStore] = [dirname(join(dataDir, 'file')), dirname(store.path)];
  const used: [variable: string, directory: string][] = [
    [ofStore === ofData ? 'MUSTER_DATA_DIR' : 'MUSTER_STORE', ofStore],
  ];
  if (!operatorTokens || !files.MUSTER_KEY_FILE) used.unshift(['MUSTER_DATA_DIR', ofData]);
  for (const [variable, directory] of used) {
    try {
      make(directory);
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException;
      throw new ConfigError(`${variable}: ${directory} ${TROUBLE[code] ?? `cannot be made or written (${code})`}`);
    }
  }
}
