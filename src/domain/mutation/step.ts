import type { Log } from '../../log.ts';
import type { Expectation, Store, Write } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { RandomSource } from '../credentials/random-ids.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { FleetReader } from '../fleet/reader.ts';
import type { AuditRecord } from '../records/records.ts';
import type { MutationAction, MutationMetrics } from './metrics.ts';

/*
 * A mutation is one commit. It expects what it relied on (the records of who asks and of what is changed), so that a
 * revoked key cannot write even through a race. It writes the records and the audit entry, whose key holds 128 random
 * bits of this attempt: after a lost answer that entry tells whether the commit happened. What a request draws (ids,
 * secrets, its instant) is drawn once, before the first attempt.
 */

export interface MutationDeps {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
  readonly metrics: MutationMetrics;
}

/** Who asks, and when. */
export interface Origin {
  readonly actor: string;
  readonly requestId: string;
  /** The instant of the request, on the wall clock. */
  readonly at: number;
  /** When there is no point in another attempt, on the monotonic clock: the request has been answered by then. */
  readonly deadline: number;
}

/** What to commit, decided from what was read. */
export interface Step<T> {
  readonly accountId: string;
  readonly action: MutationAction;
  readonly appId?: string;
  readonly detail?: AuditRecord['detail'];
  /** The instant that counts for the nights (M1); the audit tells it where it is not that of the request. */
  readonly countsAt?: number;
  readonly expect: readonly Expectation[];
  readonly write: readonly Write[];
  /** Adds to the store for good: refused when the store is nearly full, so that what frees and revokes still works. */
  readonly grows?: boolean;
  readonly result: T;
}

/** Nothing to commit: all is as it was asked to be. */
export interface Unchanged<T> {
  readonly unchanged: T;
}

/**
 * Decides a change from the fleet as it is, or throws a Refusal. It may be asked again, with a newer fleet, when the
 * commit met another one: it must draw nothing and keep nothing.
 */
export type Plan<T> = (reader: FleetReader) => Promise<Step<T> | Unchanged<T>>;

export const isUnchanged = <T>(step: Step<T> | Unchanged<T>): step is Unchanged<T> => 'unchanged' in step;
