import type { Expectation, Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';

/*
 * The clean-up removes what has expired. It is never the check (A11): whoever reads such a thing looks at its time. So
 * it may be late, stop anywhere, and leave what is in use.
 */

/** Records go this long after they expire: the leader's clock may be ahead of a replica's that still goes by them. */
export const EXPIRY_MARGIN_MS = 300_000;

/** What the clean-up removes. */
export const CLEANED = [
  'codes',
  'idempotency_records',
  'rate_records',
  'refusal_notes',
  'past_credentials',
  'audit_entries',
] as const;
export type Cleaned = (typeof CLEANED)[number];

export interface SweepDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** What every commit expects besides: that its leader leads. */
  readonly fence: readonly Expectation[];
}

/** A bounded piece of a pass over everything of a kind. */
export interface Piece {
  /** How many things went. */
  readonly gone: number;
  /** Where the next piece begins; undefined when the pass is over. */
  readonly next: string | undefined;
}

export interface Sweep {
  readonly what: Cleaned;
  /** @throws StoreUnavailable; the piece may be begun anew from the same place */
  piece(from: string | undefined, signal: AbortSignal): Promise<Piece>;
}
