import { expectAsFound, expectUnchanged, StoreUnavailable, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { FoundApp } from '../fleet/reader.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

/**
 * A proxy may send a request twice, and the second one may come after the daemon has acknowledged what the first one
 * brought; it comes within the time of a request. Nobody acknowledges anew after it.
 */
const LATE_MS = 120_000;

/**
 * Forgets that a daemon has applied a revision, where it shows that it has an older one: its machine was set back, as
 * by a snapshot, and is pending until it acknowledges anew. One that has failed keeps what it had, and says nothing
 * new. It decides what people see of the rollout alone, so trouble of the store or its record is left to the next such
 * contact.
 * @param had the revision that the daemon has
 */
export async function forgetIfSetBack(
  { store, clock }: { readonly store: Store; readonly clock: Pick<Clock, 'now'> },
  { account, app }: FoundApp,
  had: number,
): Promise<void> {
  const key = KEYS.ack(account.id, app.id);
  try {
    const entry = await store.get(key);
    const kept = entry && parseRecord(KEYS.ack, entry);
    if (kept?.record.status !== 'applied' || kept.record.revision <= had) return;
    if (clock.now() - kept.record.at < LATE_MS) return;
    // Where it has acknowledged meanwhile, that counts.
    const expect = [expectUnchanged(app), expectAsFound(key, kept)] as const;
    await store.commit({ expect, write: [{ remove: key }], quiet: true });
  } catch (error) {
    if (!(error instanceof StoreUnavailable || error instanceof BadRecord)) throw error;
  }
}
