import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError } from '../../config/files/config-error.ts';
import { generatedFile, type ConfiguredFile } from '../../config/files/configured-file.ts';
import { generateSecretWord, type RandomSource } from '../../domain/credentials/random-ids.ts';
import { newKeyFile } from '../../domain/keys/key-ring.ts';
import { KEYS } from '../../domain/records/keys.ts';
import type { Store } from '../../store/port.ts';
import { makeDirectories } from './directories.ts';
import { writeNewFile } from './new-file.ts';

/*
 * The secrets that a service on an embedded store makes at its first start, beside its data and readable by its owner
 * alone: an operator token and a key file. Each is made only where the configuration has none, and is then read, and
 * watched, by the rules of a configured one.
 */

/** The name of the token file in the data directory. */
export const TOKEN_FILE = 'operator-token';

/**
 * Makes the token file in the data directory where there is none.
 * @throws the system's error where it cannot be made
 */
export async function generatedTokenFile(dataDir: string, random: RandomSource): Promise<ConfiguredFile> {
  const path = join(dataDir, TOKEN_FILE);
  await makeUnlessThere(path, () => `${generateSecretWord(random)}\n`);
  return generatedFile('MUSTER_OPERATOR_TOKEN_FILE', path);
}

/** The path of the key file that is made where none is configured. */
export const generatedKeyPath = (dataDir: string): string => join(dataDir, 'keys');

/**
 * Makes the key file beside the data for a store that no service has used yet: over another one, a new key would open
 * nothing of what is there, and would hide that the file is lost.
 * @throws ConfigError where it is lost; the system's error where it cannot be made; StoreUnavailable
 */
export async function generatedKeyFile(
  dataDir: string,
  random: RandomSource,
  store: Pick<Store, 'list'>,
): Promise<ConfiguredFile> {
  const path = generatedKeyPath(dataDir);
  if (!existsSync(path) && !(await isUnused(store))) {
    throw new ConfigError(`${lostKeyFile(path)}. ${NO_NEW_KEY}`);
  }
  await makeUnlessThere(path, () => newKeyFile(random));
  return generatedFile('MUSTER_KEY_FILE', path);
}

/** Says why a lost key is not replaced. */
export const NO_NEW_KEY = 'A new key would not open the headers that the store holds.';

/** Says that the key file of that path is lost. */
export const lostKeyFile = (path: string): string =>
  `${path} is missing, and the store is not new: restore your copy of the key file`;

/**
 * Whether no service has used a store. The first one makes the record of the active key; a restored store has accounts
 * and not yet that.
 * @throws StoreUnavailable
 */
export const isUnused = async (store: Pick<Store, 'list'>): Promise<boolean> =>
  (
    await Promise.all(
      [KEYS.activeKey(), KEYS.account.under()].map((prefix) => store.list({ prefix, limit: 1, keysOnly: true })),
    )
  ).every(({ entries }) => entries.length === 0);

/** The file that was there first wins: nobody overwrites a key that data was encrypted under. */
async function makeUnlessThere(path: string, make: () => string): Promise<void> {
  if (existsSync(path)) return;
  makeDirectories(dirname(path));
  const text = make();
  await writeNewFile(path, { replace: false }, (put) => put(text)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}
