import type { Expectation, Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';

/*
 * The clean-up removes expired records. No rule relies on it (A11): every reader of such a record checks its time
 * itself. So the clean-up may be late, stop anywhere, and leave records that are in use.
 */

/** Records go this long after they expire: the leader's clock may be ahead of a replica's that still goes by them. */
export const EXPIRY_MARGIN_MS = 300_000;

/** The kinds of records that the clean-up removes. */
export const CLEANED = [
  'codes',
  'idempotency_records',
  'refusal_notes',
  'attempt_notes',
  'past_credentials',
  'audit_entries',
  'links',
  'sessions',
  'sign_in_notes',
  'known_browsers',
  'app_notes',
  'unused_users',
] as const;
/** A kind of records that the clean-up removes. */
export type Cleaned = (typeof CLEANED)[number];

export interface SweepDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** The fence of the leader's term: every commit expects it. */
  readonly fence: readonly Expectation[];
}

/** The result of a bounded piece of a pass over all records of a kind. */
interface Piece {
  /** How many were removed. */
  readonly gone: number;
  /** The start of the next piece; undefined when the pass is over. */
  readonly next: string | undefined;
}

/** Removes the expired records of one kind. */
export interface Sweep {
  readonly what: Cleaned;
  /**
   * Does one piece of a pass, which begins where `from` says.
   * @throws StoreUnavailable; the piece may then be repeated from the same place
   */
  piece(from: string | undefined, signal: AbortSignal): Promise<Piece>;
}
