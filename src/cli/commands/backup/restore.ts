import { existsSync, statSync } from 'node:fs';
import { readConfig, type Config } from '../../../config/config.ts';
import { contentAtStart } from '../../../config/files/configured-file.ts';
import { plantedByOthers } from '../../../config/files/trusted-file.ts';
import {
  checkBackup,
  refuseUnlessEmpty,
  restore as restoreInto,
  type Restored,
} from '../../../domain/backup/restore.ts';
import { systemRandom } from '../../../domain/credentials/random-ids.ts';
import type { KeyRing } from '../../../domain/keys/key-ring.ts';
import { generatedKeyPath } from '../../../service/files/generated-secrets.ts';
import { openConfiguredStore } from '../../../service/open-store.ts';
import { StoreUnavailable, type Store } from '../../../store/port.ts';
import type { Column } from '../../output/columns.ts';
import { printOne, refuseId } from '../../output/print.ts';
import { CommandFault, EXIT, requireWholeStdout } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { createProgress } from '../../terminal/progress.ts';
import { onInterruption } from '../../terminal/signals.ts';
import { asVerdict, bytesIn, counting } from './reading.ts';
import { opensBy, ringIn, ringOf, trustOf, type TrustOptions } from './trust.ts';

/** The file is read once to check it, once for nearly everything, and once for what the audit's chains do not reach. */
const READS = 3;

export interface RestoreOptions extends TrustOptions {
  readonly keepCodes: boolean;
  /** Everything is checked, and nothing is written. */
  readonly dryRun: boolean;
}

/**
 * `muster restore FILE`: writes a backup into the configured store, which must be empty and used by no service.
 * @throws ConfigError, BadBackup, RestoreFault, StoreUnavailable, CommandFault: with exit code 3 where a dry run finds
 * the file bad
 */
export async function restore(call: Invocation, path: string, options: RestoreOptions): Promise<void> {
  refuseId(call.globals.output, { columns: COLUMNS });
  const restored = await carriedOut(call, path, options);
  // The store is closed by now, whatever becomes of the words.
  if (!options.dryRun) requireWholeStdout('The restore is done all the same: it needs no repetition.');
  await tell(call, path, restored, options);
}

async function carriedOut(call: Invocation, path: string, options: RestoreOptions): Promise<Restored> {
  const { keepCodes, dryRun } = options;
  const { clock, say } = call;
  const config = readConfig(call.env);
  const ring = configuredRing(config);
  const trust = trustOf(ring, options);
  const there = statSync(path);
  if (!there.isFile() && !dryRun) {
    throw new CommandFault(`${path} is no file, and would have to be read ${READS} times: save it first.`, EXIT.usage);
  }
  const { size } = there;
  const random = systemRandom();
  const rules = { random, trust, opens: opensBy(ring, random), keepCodes };
  await using store = dryRun && isMissing(config) ? undefined : await opened(config, say);
  using interruption = onInterruption(new CommandFault('interrupted.'));
  using progress = createProgress('bytes', { quiet: call.globals.quiet });
  progress.total(size * (dryRun ? 1 : READS));
  const read = counting(progress, interruption.signal);
  const open = (): AsyncIterable<Uint8Array> => read(bytesIn(path));
  if (dryRun || !store) {
    if (store) await refuseUnlessEmpty(store);
    return await checkBackup(rules, open).catch(asVerdict);
  }
  return await restoreInto({ ...rules, store, clock, storeId: config.storeId }, open);
}

interface Told {
  readonly file: string;
  readonly at: string;
  readonly entries: number;
  readonly codesVoided: number;
  /** Collector headers that no key of this place opens. */
  readonly unopened: number;
  /** Nothing was written: all of this would be. */
  readonly dryRun: boolean;
}

const COLUMNS: readonly Column<Told>[] = [
  { head: 'FILE', field: 'file' },
  { head: 'AT', field: 'at', kind: 'time' },
  { head: 'ENTRIES', field: 'entries' },
  { head: 'CODES VOIDED', field: 'codesVoided' },
  { head: 'UNOPENED HEADERS', field: 'unopened' },
  { head: 'DRY RUN', field: 'dryRun' },
];

async function tell(
  call: Invocation,
  file: string,
  restored: Restored,
  { dryRun }: Pick<RestoreOptions, 'dryRun'>,
): Promise<void> {
  const { say } = call;
  const { header, entries, codesVoided, unopened } = restored;
  say(`${dryRun ? 'Nothing was written. This would restore' : 'Restored'} ${entries} entries of ${header.at}.`);
  if (codesVoided > 0) {
    const are = dryRun ? 'would be' : 'are';
    say(`${codesVoided} open enrollment codes ${are} void: issue new ones where they are needed.`);
  }
  if (unopened > 0) {
    say(
      `${unopened} collector headers are sealed under keys that are not in the key file, and read as not set: ` +
        'take the key file that the backup was made with, before you start the service.',
    );
  }
  if (!dryRun) {
    say('Revocations and purges since then are not in it: repeat them before others reach the service (docs/CLI.md).');
  }
  const item = { file, at: header.at, entries, codesVoided, unopened, dryRun };
  await printOne<Told>(call, { columns: COLUMNS, item });
}

/** To open an embedded store that is not there would make it. */
const isMissing = ({ store }: Config): boolean => store.kind === 'sqlite' && !existsSync(store.path);

async function opened(config: Config, say: (text: string) => void): Promise<Store> {
  try {
    return await openConfiguredStore(config, say);
  } catch (error) {
    if (!(error instanceof StoreUnavailable) || config.store.kind !== 'sqlite' || error.reason !== 'refused')
      throw error;
    throw new CommandFault(`${error.message}: stop the service, and restore into another, empty store.`);
  }
}

/** The keys of the installation that the backup is restored to; undefined where it has none yet. */
function configuredRing({ files: { MUSTER_KEY_FILE: file }, dataDir }: Config): KeyRing | undefined {
  const kept = generatedKeyPath(dataDir);
  if (file) return ringOf(contentAtStart(file).toString(), file.name);
  return existsSync(kept) ? ringIn(kept, plantedByOthers(kept)) : undefined;
}
