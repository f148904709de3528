import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError, parseOperatorTokens } from '../config/config.ts';
import { generateSecretWord, type RandomSource } from '../domain/credentials/random-ids.ts';
import { newKeyFile, parseKeyRing, type KeyRing } from '../domain/keys/key-ring.ts';

/*
 * What an embedded store without configuration keeps beside its data, made at the first start, readable by its owner
 * alone: an operator token, and a key file. Each is made only where the configuration has none, and is then read by the
 * rules of a configured one.
 */

export const TOKEN_FILE = 'operator-token';

/** @throws ConfigError that names the file and the rule */
export function keptOperatorTokens(dataDir: string, random: RandomSource): readonly string[] {
  const path = join(dataDir, TOKEN_FILE);
  return parseOperatorTokens(
    readOrMake(path, () => `${generateSecretWord(random)}\n`),
    path,
  );
}

export const keptKeyPath = (dataDir: string): string => join(dataDir, 'keys');

/** @throws ConfigError that names the file and the rule */
export function keptKeyRing(dataDir: string, random: RandomSource): KeyRing {
  const path = keptKeyPath(dataDir);
  const text = readOrMake(path, () => newKeyFile(random));
  try {
    return parseKeyRing(text);
  } catch (error) {
    throw new ConfigError(`${path}: ${(error as Error).message}`);
  }
}

function readOrMake(path: string, make: () => string): string {
  if (!existsSync(path)) makeOnce(path, make());
  return readFileSync(path, 'utf8');
}

/**
 * The name appears with the whole content or not at all, whenever the machine stops. A link, not a rename: whoever
 * makes it first wins, and nobody overwrites a key that data was encrypted under.
 */
function makeOnce(path: string, text: string): void {
  const directory = dirname(path);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomUUID()}`;
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  const opened = openSync(directory, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
