import { expectAsFound, type Store } from '../../store/port.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

/**
 * Notes that a backup of the store as of this instant was sent whole. Of two that end at once, one may be noted alone.
 * @param at in milliseconds since 1970
 * @throws StoreUnavailable; BadRecord
 */
export async function noteBackup(store: Store, at: number): Promise<void> {
  const entry = await store.get(KEYS.lastBackup());
  const before = entry && parseRecord(KEYS.lastBackup, entry);
  if (before && before.record.at >= at) return;
  await store.commit({
    expect: [expectAsFound(KEYS.lastBackup(), before)],
    write: [put(KEYS.lastBackup(), { ...before?.record, at })],
    quiet: true,
  });
}

/**
 * Reads when the store was as the last backup has it, in milliseconds since 1970; undefined where none was sent whole.
 * @throws StoreUnavailable; BadRecord
 */
export async function lastBackupAt(store: Store): Promise<number | undefined> {
  const entry = await store.get(KEYS.lastBackup());
  return entry && parseRecord(KEYS.lastBackup, entry).record.at;
}
