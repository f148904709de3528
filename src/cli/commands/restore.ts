import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { ConfigError, readConfig, type Config } from '../../config/config.ts';
import { plantedByOthers, writableByOthers } from '../../config/trusted-file.ts';
import type { RestoreRules } from '../../domain/backup/restore-rules.ts';
import { restore as restoreInto, type BackupTrust } from '../../domain/backup/restore.ts';
import { systemRandom, type RandomSource } from '../../domain/credentials/random-ids.ts';
import { createEnvelope } from '../../domain/keys/envelope.ts';
import { parseKeyRing, type KeyRing } from '../../domain/keys/key-ring.ts';
import { openHeader } from '../../domain/otel-config/otel-config.ts';
import { generatedKeyPath } from '../../service/files/generated-secrets.ts';
import { openConfiguredStore } from '../../service/open-store.ts';
import { StoreUnavailable, type Store } from '../../store/port.ts';
import { systemClock } from '../../time/clock.ts';
import { CommandFault, say } from '../terminal/exit.ts';
import { createProgress, type Progress } from '../terminal/progress.ts';
import { onInterruption } from '../terminal/signals.ts';

/** The file is read once to check it, once for nearly everything, and once for what the audit's chains do not reach. */
const READS = 3;

export interface RestoreOptions {
  readonly keepCodes: boolean;
  /** The path of the key file of the time of the backup. */
  readonly keyFile?: string;
  /** The SHA-256 of a file whose signature cannot be verified. */
  readonly allowUnsigned?: string;
}

/**
 * `muster restore FILE`: writes a backup into the configured store, which must be empty and used by no service.
 * @throws ConfigError, BadBackup, RestoreFault, StoreUnavailable, CommandFault
 */
export async function restore(env: NodeJS.ProcessEnv, path: string, options: RestoreOptions): Promise<void> {
  const config = readConfig(env);
  const ring = configuredRing(config);
  const trust = trustOf(ring, options);
  const { size } = statSync(path);
  await using store = await opened(config);
  using interruption = onInterruption(new CommandFault('interrupted.'));
  using progress = createProgress('bytes');
  progress.total(size * READS);
  const read = counting(progress, interruption.signal);
  const random = systemRandom();
  const { header, entries, codesVoided, unopened } = await restoreInto(
    {
      store,
      clock: systemClock,
      random,
      trust,
      opens: opensBy(ring, random),
      keepCodes: options.keepCodes,
      storeId: config.storeId,
    },
    () => read(createReadStream(path)),
  );
  progress[Symbol.dispose]();
  say(`Restored ${entries} entries of ${header.at}.`);
  if (codesVoided > 0) say(`${codesVoided} open enrollment codes are void: issue new ones where they are needed.`);
  if (unopened > 0) {
    say(
      `${unopened} collector headers are sealed under keys that are not in the key file, and read as not set: ` +
        'take the key file that the backup was made with, before you start the service.',
    );
  }
  say('Revocations and purges since then are not in it: repeat them before others reach the service (docs/CLI.md).');
}

async function opened(config: Config): Promise<Store> {
  try {
    return await openConfiguredStore(config, say);
  } catch (error) {
    if (!(error instanceof StoreUnavailable) || config.store.kind !== 'sqlite' || error.reason !== 'refused')
      throw error;
    throw new CommandFault(`${error.message}: stop the service, and restore into another, empty store.`);
  }
}

type Reading = (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** Passes the bytes on until the signal aborts, and reports their number over all readings. */
function counting(progress: Progress, signal: AbortSignal): Reading {
  let done = 0;
  return async function* counted(bytes) {
    for await (const chunk of bytes) {
      signal.throwIfAborted();
      progress.at((done += chunk.length));
      yield chunk;
    }
  };
}

/** The keys of the installation that the backup is restored to; undefined where it has none yet. */
function configuredRing({ keyFile, dataDir }: Config): KeyRing | undefined {
  const kept = generatedKeyPath(dataDir);
  if (keyFile !== undefined) return ringOf(keyFile, 'MUSTER_KEY_FILE');
  return existsSync(kept) ? ringIn(kept, plantedByOthers(kept)) : undefined;
}

/** A backup may be older than the keys of the installation: then its own key file verifies it. */
const trustOf = (ring: KeyRing | undefined, { keyFile, allowUnsigned }: RestoreOptions): BackupTrust => ({
  keyRing: keyFile === undefined ? ring : ringIn(keyFile, writableByOthers(keyFile)),
  sha256: allowUnsigned,
});

/** @param distrusted why the file must not be used, in words */
function ringIn(path: string, distrusted: string | undefined): KeyRing {
  if (distrusted !== undefined) throw new ConfigError(distrusted);
  return ringOf(readFileSync(path, 'utf8'), path);
}

function ringOf(text: string, name: string): KeyRing {
  try {
    return parseKeyRing(text);
  } catch (error) {
    throw new ConfigError(`${name}: ${(error as Error).message}`);
  }
}

/** A store that was tried out has its own key 1: the number alone does not tell that it is another key. */
function opensBy(ring: KeyRing | undefined, random: RandomSource): RestoreRules['opens'] {
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
