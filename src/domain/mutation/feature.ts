import { expectUnchanged, type Entry, type Store } from '../../store/port.ts';
import { expiredRecords } from '../cleanup/expired-records.ts';
import { EXPIRY_MARGIN_MS } from '../cleanup/sweep.ts';
import { LIMITS } from '../limits.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

/** The slot of a record, unless another record has taken it. @throws StoreUnavailable; BadRecord */
async function slotOf(store: Store, entry: Entry) {
  const [scope = '', , name = ''] = entry.key.slice(KEYS.idempotencyRecord.under().length).split('/');
  const key = KEYS.idempotencySlot(scope, parseRecord(KEYS.idempotencyRecord, entry).record.slot);
  const slot = await store.get(key);
  if (!slot || parseRecord(KEYS.idempotencySlot, slot).record.key !== name) return { expect: [], write: [] };
  return { expect: [expectUnchanged(slot)], write: [{ remove: key }] };
}

export const mutation = {
  sweeps: {
    /** H19: a record answers for a day. */
    idempotency_records: expiredRecords(
      KEYS.idempotencyRecord,
      ({ at }, now) => now >= at + LIMITS.idempotencyKeptMs + EXPIRY_MARGIN_MS,
      slotOf,
    ),
    /** H23: that of a restricted key, which may be gone; the others go on. */
    idempotency_rings: expiredRecords(
      KEYS.idempotencyRing,
      ({ at }, now) => at !== undefined && now >= at + LIMITS.idempotencyKeptMs + EXPIRY_MARGIN_MS,
    ),
  },
};
