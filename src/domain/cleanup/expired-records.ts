import type * as z from 'zod';
import { expectUnchanged, type ChangeParts, type Entry, type KeyPrefix, type Store } from '../../store/port.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import { kindOfKey } from '../records/keys.ts';
import type { Declared } from '../records/registry.ts';
import { unlessDamaged, type Sweep, type SweepDeps } from './sweep.ts';

const LISTED_PER_PIECE_MAX = 500;
/** A record may be removed with another one, and a commit has at most 127 operations. */
const REMOVED_PER_COMMIT_MAX = 50;

const none = async (): Promise<ChangeParts> => ({ expect: [], write: [] });

/**
 * A sweep over records that hold their own time. The commits are quiet: no replica has these records in memory. A
 * damaged record stays.
 * @param companionOf tells what is removed with a record; where it throws BadRecord, both stay
 */
export function expiredRecords<T>(
  kind: Declared<z.ZodType<T>> & { under(): KeyPrefix },
  isExpired: (record: T, now: number) => boolean,
  companionOf: (store: Store, entry: Entry) => Promise<ChangeParts> = none,
): Sweep {
  function hasExpired(entry: Entry, now: number): boolean {
    try {
      return isExpired(parseRecord(kind, entry).record, now);
    } catch (error) {
      if (error instanceof BadRecord) return false;
      throw error;
    }
  }

  async function remove({ store, fence }: SweepDeps, expired: readonly Entry[]): Promise<number> {
    const companions = await Promise.all(expired.map((entry) => unlessDamaged(companionOf(store, entry))));
    const entries = expired.filter((_, at) => companions[at] !== undefined);
    const [first, ...others] = entries.map(expectUnchanged);
    if (!first) return 0;
    const { outcome } = await store.commit({
      expect: [first, ...others, ...companions.flatMap((one) => one?.expect ?? []), ...fence],
      write: [...entries.map(({ key }) => ({ remove: key })), ...companions.flatMap((one) => one?.write ?? [])],
      quiet: true,
    });
    // After a conflict one of the records is in use again: the next pass checks it.
    return outcome === 'committed' ? entries.length : 0;
  }
  return async (deps, from, signal) => {
    const page = await deps.store.list({ prefix: kind.under(), limit: LISTED_PER_PIECE_MAX, after: from });
    const now = deps.clock.now();
    const expired = page.entries.filter((entry) => kindOfKey(entry.key) === kind && hasExpired(entry, now));
    let gone = 0;
    for (let start = 0; start < expired.length && !signal.aborted; start += REMOVED_PER_COMMIT_MAX) {
      gone += await remove(deps, expired.slice(start, start + REMOVED_PER_COMMIT_MAX));
    }
    return { gone, next: page.next };
  };
}
