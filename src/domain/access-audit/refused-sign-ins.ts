import type { Store } from '../../store/port.ts';
import { type EnteredSignIns, signInsOf } from '../records/attempt-records.ts';
import { KEYS } from '../records/keys.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';

/** The latest entries of the audit about failed sign-ins of a user, the newest first. @throws StoreUnavailable */
export type RefusedSignIns = (userId: string) => Promise<readonly EnteredSignIns[]>;

/** Creates the reading; see `RefusedSignIns`. */
export function createRefusedSignIns({ store }: { readonly store: Pick<Store, 'get'> }): RefusedSignIns {
  return async (userId) => {
    const entry = await store.get(KEYS.attempted(signInsOf(userId)));
    if (!entry) return [];
    try {
      return (parseRecord(KEYS.attempted, entry).record.last ?? []).toReversed();
    } catch (error) {
      // The next entry replaces it; the audit has what it told.
      if (error instanceof BadRecord) return [];
      throw error;
    }
  };
}
