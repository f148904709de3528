import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newKeyFile } from './domain/key-ring.ts';
import { drawSecretWord, type Draw } from './domain/secrets.ts';

/**
 * What an embedded store without configuration keeps beside its data: an operator token and a key file, made at the
 * first start, readable by their owner alone.
 */
export interface EmbeddedSecrets {
  readonly operatorToken: string;
  readonly keyFile: string;
}

export const TOKEN_FILE = 'operator-token';
export const KEY_FILE = 'keys';

export function embeddedSecrets(dataDir: string, draw: Draw): EmbeddedSecrets {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  return {
    operatorToken: readOrMake(join(dataDir, TOKEN_FILE), () => `${drawSecretWord(draw)}\n`).trimEnd(),
    keyFile: readOrMake(join(dataDir, KEY_FILE), () => newKeyFile(draw)),
  };
}

function readOrMake(path: string, make: () => string): string {
  try {
    // `wx`: whoever makes it first wins, and nobody overwrites a key that data was encrypted under.
    writeFileSync(path, make(), { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8');
}
