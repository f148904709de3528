import { readFileSync } from 'node:fs';
import { ConfigError } from '../../../config/files/config-error.ts';
import { writableByOthers } from '../../../config/files/trusted-file.ts';
import type { RestoreRules } from '../../../domain/backup/restore-rules.ts';
import type { BackupTrust } from '../../../domain/backup/restore.ts';
import type { RandomSource } from '../../../domain/credentials/random-ids.ts';
import { createEnvelope } from '../../../domain/keys/envelope.ts';
import { parseKeyRing, type KeyRing } from '../../../domain/keys/key-ring.ts';
import { openHeader } from '../../../domain/otel-config/otel-config.ts';
import { naming } from '../../../service/files/file-error.ts';

/* Tells who made a backup, and what its keys open. */

export interface TrustOptions {
  /** The path of the key file of the time of the backup. */
  readonly keyFile?: string;
  /** The SHA-256 of a file whose signature cannot be verified. */
  readonly allowUnsigned?: string;
}

/** A backup may be older than the keys of the installation: then its own key file verifies it. @throws ConfigError */
export const trustOf = (ring: KeyRing | undefined, { keyFile, allowUnsigned }: TrustOptions): BackupTrust => ({
  keyRing: keyFile === undefined ? ring : ringIn(keyFile, writableByOthers(keyFile)),
  sha256: allowUnsigned,
});

/** @param distrusted why the file must not be used, in words. @throws ConfigError; the system's error */
export function ringIn(path: string, distrusted: string | undefined): KeyRing {
  if (distrusted !== undefined) throw new ConfigError(distrusted);
  return ringOf(textOf(path), path);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw naming(path, error);
  }
}

/** @throws ConfigError that begins with the name */
export function ringOf(text: string, name: string): KeyRing {
  try {
    return parseKeyRing(text);
  } catch (error) {
    throw new ConfigError(`${name}: ${(error as Error).message}`);
  }
}

/** A store that was tried out has its own key 1: the number alone does not tell that it is another key. */
export function opensBy(ring: KeyRing | undefined, random: RandomSource): RestoreRules['opens'] {
  if (!ring) return () => false;
  const envelope = createEnvelope(ring, random);
  return (accountId, record) => {
    try {
      return openHeader(envelope, accountId, record) !== undefined;
    } catch {
      // The record is sealed under a key that is newer than all of these.
      return false;
    }
  };
}
