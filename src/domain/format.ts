import { ABSENT, type Store } from '../store/port.ts';
import { FORMAT, formatSchema, KEYS, parseRecord, put } from './records.ts';

/** Brings the records of one format to the next. It may be stopped anywhere and run again. */
export type Migration = (store: Store) => Promise<void>;

/** By the format that they begin from. */
export type Migrations = ReadonlyMap<number, Migration>;

const MIGRATIONS: Migrations = new Map();

/** What to do with what an interrupted restore left. */
export const EMPTY_IT =
  'The store holds part of a backup: empty it (of an embedded store remove its file, and those beside it that end in ' +
  '-wal and -shm; of etcd every key under MUSTER_ETCD_PREFIX) and restore again.';

/**
 * Checks that this program and the store's records fit, before anything else is read: an empty store takes this
 * program's format, an older one is migrated forward step by step, a newer one is refused.
 * @throws Error in words for the operator; StoreUnavailable
 */
export async function settleFormat(store: Store, migrations = MIGRATIONS, format = FORMAT): Promise<void> {
  for (;;) {
    if (await store.get(KEYS.restoring)) throw new Error(`A restore was not finished. ${EMPTY_IT}`);
    const entry = await store.get(KEYS.format);
    const found = entry && parseRecord(formatSchema, entry);
    if (found?.record.format === format) return;
    if (found && found.record.format > format) {
      throw new Error(
        `The store was written by a newer Muster (format ${found.record.format}; this program knows up to ` +
          `${format}). Start that version again, or restore a backup made before the upgrade.`,
      );
    }
    if (found) await migrateFrom(store, found.record.format, migrations);
    // Another replica may do the same at this moment: then this commit conflicts, and the next look settles it.
    await store.commit({
      expect: [
        { key: KEYS.format, revision: found?.revision ?? ABSENT },
        { key: KEYS.restoring, revision: ABSENT },
      ],
      write: [put(KEYS.format, { ...found?.record, format: found ? found.record.format + 1 : format })],
    });
  }
}

async function migrateFrom(store: Store, format: number, migrations: Migrations): Promise<void> {
  const migrate = migrations.get(format);
  if (!migrate) {
    throw new Error(`The store's format ${format} is too old for this program. Upgrade by way of an earlier version.`);
  }
  await migrate(store);
}
