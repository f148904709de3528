import { existsSync } from 'node:fs';
import { ConfigError } from '../../config/files/config-error.ts';
import { dataDirectoryOf } from '../../config/rules.ts';
import { configuredFile, contentAtStart, generatedFile } from '../../config/files/configured-file.ts';
import { parseKeyRing, type KeyRing } from '../../domain/keys/key-ring.ts';
import { generatedKeyPath } from './generated-secrets.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The key file of an installation, for who needs nothing else of its configuration. */
interface KeyFile {
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
 * @throws ConfigError
 */
export async function readKeyFile(env: Environment): Promise<KeyFile | undefined> {
  const { path, isConfigured } = keyFilePath(env);
  if (!isConfigured && !existsSync(path)) return undefined;
  const text = contentAtStart({
    ...(isConfigured ? configuredFile : generatedFile)('MUSTER_KEY_FILE', path),
    name: path,
  }).toString('utf8');
  try {
    return { path, text, ring: parseKeyRing(text) };
  } catch (error) {
    throw new ConfigError(`${path}: ${(error as Error).message}`);
  }
}
