import type { Span } from './clock-interval.ts';
import type { OwnPart } from './own-hold.ts';
import type { OwnCount } from './own-usage.ts';
import type { WindowRecord } from './record.ts';

/** What a replica decides from. */
export interface Situation {
  readonly record: WindowRecord;
  readonly replicaId: string;
  readonly part: OwnPart;
  /** What this replica admitted, by its own memory. */
  readonly own: OwnCount;
  readonly now: Span;
  /** By the clock that never jumps, as `asked` and `restsUntil` are: who waits shall not wait for ever. */
  readonly monotonic: number;
  /** Requests that wait; 0 when only the own hold is to be settled. */
  readonly demand: number;
  /** Slices of others that someone asked for, with the instant from which no answer is expected any more. */
  readonly asked: ReadonlyMap<string, number>;
  /** Others want what is held. */
  readonly giveBack: boolean;
  /** The replica stops: nothing is held ahead any more. */
  readonly ends: boolean;
  /** Commits of this replica for the account within the last minute, since when more than 200 are left. */
  readonly writes: number;
  /** How long a charge may take until it is answered. */
  readonly chargeMs: number;
  /** Until then it is the turn of others to charge. */
  readonly restsUntil: number;
}
