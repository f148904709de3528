import type { Clock } from '../../time/clock.ts';

/**
 * Knows for how long this replica has been there for daemons, and the store for their contacts, without a break. After
 * a break of the service the daemons have old contacts, although none of them was silent (ADR 0078).
 */
export interface Listening {
  /** The store has taken an announcement of this replica; it is called every few seconds. */
  answered(): void;
  /** The store did not take contacts, which may be missing in it until the next rounds have written them. */
  failed(): void;
  /** The time without a break, in milliseconds; 0 during one, and before the first answer. */
  forMs(): number;
}

/** A count of breaks, each at least a poll interval long. A shorter one leaves no daemon silent that polls on. */
const STALE_AFTER_BREAKS = 3;

/** Begins to listen with the first answer of the store. @param staleAfterMs as `staleAfterMs()` */
export function createListening(clock: Pick<Clock, 'monotonic'>, staleAfterMs: number): Listening {
  const breakMs = staleAfterMs / STALE_AFTER_BREAKS;
  let since = clock.monotonic();
  let answeredAt = Number.NEGATIVE_INFINITY;
  const isBroken = (): boolean => clock.monotonic() - answeredAt > breakMs;
  return {
    answered() {
      if (isBroken()) since = clock.monotonic();
      answeredAt = clock.monotonic();
    },
    failed() {
      since = clock.monotonic();
    },
    forMs: () => (isBroken() ? 0 : clock.monotonic() - since),
  };
}
