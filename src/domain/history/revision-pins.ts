import { isFull, PAGE_ENTRIES_MAX, StoreUnavailable, type Held, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { KEYS } from '../records/keys.ts';

/*
 * A reader of an old revision, such as a backup, pins it, and the controller compacts no further.
 *
 * The pin is written first; its own revision is the pinned one, and its holder reads that revision or newer ones. The
 * controller reads the store's revision R first, then lists the pins, and compacts to the smallest of R and the pinned
 * revisions. So a pinned revision is never compacted, however long the compaction takes to arrive: a listed pin is
 * respected; a pin that is not listed was written after the listing, so that its revision is greater than R, and a
 * compaction to R leaves all reads at R and later.
 *
 * A full store may take no pin, and is what a backup is wanted of most. Its revision then hardly moves, as it takes no
 * writes, and compactions reach no further than that. Should one pass the revision all the same, as when an operator
 * makes room meanwhile, the reader is told `compacted` and begins again.
 */

/**
 * A revision that stays readable until it is released, for `PINNED_MS_MAX` at most; on a store that was too full for
 * the pin, until another process compacts past it.
 */
interface RevisionPin extends AsyncDisposable {
  readonly revision: number;
  /** Aborts when the pin may be gone: from then on the revision may be compacted. */
  readonly lost: AbortSignal;
}

/** The time to live of the lease: a pin outlives a holder that died by this much. */
const TTL_MS = 15_000;
/**
 * A pin that is older does not count: purged secrets must leave the history (O10), and a reader this slow starts again.
 */
export const PINNED_MS_MAX = 900_000;

/**
 * Pins the store's current revision; where the store is too full for a pin, this process alone spares the revision.
 * @param pinId a new id, which the reader generates
 * @throws StoreUnavailable, also where the id is taken
 */
export async function pinRevision(store: Store, clock: Clock, pinId: string): Promise<RevisionPin> {
  const held = await holdPin(store, clock, pinId);
  const revision =
    held?.revision ?? (await store.list({ prefix: KEYS.pin.under(), limit: 1, keysOnly: true })).revision;
  // The history of the embedded store has a bound of its own, which this raises.
  const retained = store.retain(revision);
  const [released, expired] = [new AbortController(), new AbortController()];
  const release = async (): Promise<void> => {
    released.abort();
    retained[Symbol.dispose]();
    await held?.release();
  };
  // The leader measures a pin's age from when it first saw it, and cannot end what another process retains: the holder
  // ends its pin itself.
  const expire = async (): Promise<void> => {
    await clock.sleep(PINNED_MS_MAX, released.signal);
    if (released.signal.aborted) return;
    expired.abort();
    await release();
  };
  void expire();
  return {
    revision,
    lost: held ? AbortSignal.any([held.lost, expired.signal]) : expired.signal,
    [Symbol.asyncDispose]: release,
  };
}

/** @returns undefined where the store is too full for the pin */
async function holdPin(store: Store, clock: Clock, pinId: string): Promise<Held | undefined> {
  try {
    const held = await store.hold(KEYS.pin(pinId), JSON.stringify({ at: clock.now() }), TTL_MS);
    if (held === 'taken') throw new StoreUnavailable('failed', 'The pin is taken already.');
    return held;
  } catch (error) {
    if (isFull(error)) return undefined;
    throw error;
  }
}

/** The pins as the leader sees them. */
export interface RevisionPins {
  /**
   * Reads the smallest pinned revision; undefined where nothing is pinned.
   * @throws StoreUnavailable
   */
  lowest(): Promise<number | undefined>;
}

/** The age of a pin counts from when it was first seen here: a holder's wrong clock must not retain the history. */
export function createRevisionPins(store: Store, clock: Clock): RevisionPins {
  let seen = new Map<string, number>();
  return {
    async lowest() {
      const { entries } = await store.list({ prefix: KEYS.pin.under(), limit: PAGE_ENTRIES_MAX, keysOnly: true });
      const now = clock.monotonic();
      seen = new Map(entries.map(({ key }) => [key, seen.get(key) ?? now]));
      const young = entries.filter(({ key }) => now - (seen.get(key) ?? now) < PINNED_MS_MAX);
      return young.length === 0 ? undefined : Math.min(...young.map(({ revision }) => revision));
    },
  };
}
