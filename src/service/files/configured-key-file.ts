import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ConfigError } from '../../config/files/config-error.ts';
import { dataDirectoryOf } from '../../config/rules.ts';
import { plantedByOthers, writableByOthers } from '../../config/files/trusted-file.ts';
import { parseKeyRing, type KeyRing } from '../../domain/keys/key-ring.ts';
import { naming } from './file-error.ts';
import { generatedKeyPath } from './generated-secrets.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The key file of an installation, for who needs nothing else of its configuration. */
export interface KeyFile {
  readonly path: string;
  readonly text: string;
  readonly ring: KeyRing;
}

/** The path of the key file that a service with this environment would read. */
export function keyFilePath(env: Environment): { readonly path: string; readonly isConfigured: boolean } {
  const { MUSTER_KEY_FILE: configured } = env;
  if (configured) return { path: configured, isConfigured: true };
  return { path: generatedKeyPath(dataDirectoryOf(env)), isConfigured: false };
}

/**
 * Reads the key file by the rules of the service.
 * @returns undefined where none is configured, and none was made beside the data
 * @throws ConfigError; the system's error
 */
export async function readKeyFile(env: Environment): Promise<KeyFile | undefined> {
  const { path, isConfigured } = keyFilePath(env);
  if (!isConfigured && !existsSync(path)) return undefined;
  const distrusted = isConfigured ? writableByOthers(path) : plantedByOthers(path);
  if (distrusted !== undefined) throw new ConfigError(distrusted);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw naming(path, error);
  });
  try {
    return { path, text, ring: parseKeyRing(text) };
  } catch (error) {
    throw new ConfigError(`${path}: ${(error as Error).message}`);
  }
}
