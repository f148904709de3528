import { PAGE_ENTRIES_MAX, StoreUnavailable, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { KEYS } from '../records/keys.ts';

/*
 * Who reads an old revision (a backup, a metering) pins it, and the controller compacts no further.
 *
 * The pin is written first; its own revision is the one that is pinned, and its holder reads that revision or newer
 * ones. Whoever compacts has read the store's revision R first, then lists the pins, and compacts to the smallest of R
 * and theirs. So no pin is ever overrun, however long the compaction takes to arrive: a pin that the listing has is
 * respected; one that it has not was written after the listing, so that its revision is greater than R. Compacting to R
 * leaves all reads at R and later.
 */

/** A revision that stays readable until it is released, for `PINNED_MS_MAX` at most. */
export interface Pinned extends AsyncDisposable {
  readonly revision: number;
  /** Aborts when the pin may be gone: what is read may be compacted from then on. */
  readonly lost: AbortSignal;
}

/** Of the lease: so long a pin outlives a holder that died. */
const TTL_MS = 15_000;
/** An older one counts no longer: what was purged is to go (O10), and a reader that takes so long begins anew. */
export const PINNED_MS_MAX = 900_000;

/**
 * @param pinId of the reader's own making, one for each pin
 * @throws StoreUnavailable, also where the id is taken
 */
export async function pin(store: Store, clock: Clock, pinId: string): Promise<Pinned> {
  const held = await store.hold(KEYS.pin(pinId), JSON.stringify({ at: clock.now() }), TTL_MS);
  if (held === 'taken') throw new StoreUnavailable('failed', 'The pin is held already.');
  // The embedded store's history has a bound of its own, too.
  const retained = store.retain(held.revision);
  const [released, expired] = [new AbortController(), new AbortController()];
  const release = async (): Promise<void> => {
    released.abort();
    retained[Symbol.dispose]();
    await held.release();
  };
  // The leader counts a pin's age from when it saw it, and cannot free what another process retains: its holder ends it.
  const expire = async (): Promise<void> => {
    await clock.sleep(PINNED_MS_MAX, released.signal);
    if (released.signal.aborted) return;
    expired.abort();
    await release();
  };
  void expire();
  return {
    revision: held.revision,
    lost: AbortSignal.any([held.lost, expired.signal]),
    [Symbol.asyncDispose]: release,
  };
}

export interface PinWatch {
  /**
   * The smallest pinned revision; undefined where nothing is pinned.
   * @throws StoreUnavailable
   */
  lowest(): Promise<number | undefined>;
}

/** Pins by when they were first seen: the holder's clock has no say in how long the history is held up. */
export function createPinWatch(store: Store, clock: Clock): PinWatch {
  let seen = new Map<string, number>();
  return {
    async lowest() {
      const { entries } = await store.list({ prefix: KEYS.pins, limit: PAGE_ENTRIES_MAX, keysOnly: true });
      const now = clock.monotonic();
      seen = new Map(entries.map(({ key }) => [key, seen.get(key) ?? now]));
      const young = entries.filter(({ key }) => now - (seen.get(key) ?? now) < PINNED_MS_MAX);
      return young.length === 0 ? undefined : Math.min(...young.map(({ revision }) => revision));
    },
  };
}
