import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigError, parseOperatorTokens } from '../config/config.ts';
import { generateSecretWord, type RandomSource } from '../domain/credentials/random-ids.ts';
import { newKeyFile, parseKeyRing, type KeyRing } from '../domain/keys/key-ring.ts';
import { writeNewFile } from './new-file.ts';

/*
 * The secrets that a service on an embedded store makes at its first start, beside its data and readable by its owner
 * alone: an operator token and a key file. Each is made only where the configuration has none, and is then read by the
 * rules of a configured one.
 */

/** The name of the token file in the data directory. */
export const TOKEN_FILE = 'operator-token';

/** @throws ConfigError that names the file and the rule; the system's error where it can be neither read nor made */
export async function generatedOperatorTokens(dataDir: string, random: RandomSource): Promise<readonly string[]> {
  const path = join(dataDir, TOKEN_FILE);
  return parseOperatorTokens(await readOrMake(path, () => `${generateSecretWord(random)}\n`), path);
}

/** The path of the key file that is made where none is configured. */
export const generatedKeyPath = (dataDir: string): string => join(dataDir, 'keys');

/** @throws ConfigError that names the file and the rule; the system's error where it can be neither read nor made */
export async function generatedKeyRing(dataDir: string, random: RandomSource): Promise<KeyRing> {
  const path = generatedKeyPath(dataDir);
  const text = await readOrMake(path, () => newKeyFile(random));
  try {
    return parseKeyRing(text);
  } catch (error) {
    throw new ConfigError(`${path}: ${(error as Error).message}`);
  }
}

/** The file that was there first wins: nobody overwrites a key that data was encrypted under. */
async function readOrMake(path: string, make: () => string): Promise<string> {
  if (!existsSync(path)) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const text = make();
    await writeNewFile(path, { replace: false }, (put) => put(text)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
  return await readFile(path, 'utf8');
}
