import type { Log } from '../../log.ts';
import type { ChangeParts, Expectation, Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { RandomSource } from '../credentials/random-ids.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Quotas } from '../quota/quotas.ts';
import type { FleetReader } from '../fleet/reader.ts';
import type { AuditRecord } from '../records/audit-records.ts';
import type { MutationAction } from './actions.ts';
import type { MutationMetrics } from './metrics.ts';

/*
 * A mutation is one commit. It expects what it relied on (the records of who asks and of what is changed), so that a
 * revoked key cannot write even through a race. It writes the records and the audit entry, whose key holds 128 random
 * bits of this attempt: after a lost answer that entry tells whether the commit happened. The ids, the secrets and the
 * instant of a request are generated once, before the first attempt; the instant of the entry is that of the attempt.
 */

/** The services, clock and metrics of a mutation. */
export interface MutationDeps {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
  readonly metrics: MutationMetrics;
  readonly quotas: Pick<Quotas, 'refuseAtQuota' | 'countOwnAct' | 'storage'>;
}

/**
 * Judges whether the actor may make the change, as the reader of an attempt has it. Its expectations go into the
 * commit: a session that ends, or a role that is taken away, between this and the commit makes it conflict (A12).
 * @throws Refusal `invalid_session`, `forbidden`, `not_found`; StoreUnavailable
 */
export type Guard = (reader: FleetReader) => Promise<readonly Expectation[]>;

/** The origin of a mutation: the actor, and the time that it has. */
export interface Origin {
  /** The actor, as the audit names it (`KEYS.audit.schema`). */
  readonly actor: string;
  /** Present where the actor's right is judged in each commit: a user of the panel. */
  readonly guard?: Guard;
  /** A user of the panel makes the change as an operator of the installation: no account's quota bounds it (A16). */
  readonly asOperator?: boolean;
  readonly requestId: string;
  /** The trace that the request belongs to (W3C Trace Context), for the log. */
  readonly traceId?: string;
  /** The address of the client, for the log; absent where no request is behind it. */
  readonly client?: string;
  /** The instant of the request on the wall clock, in milliseconds since 1970. */
  readonly at: number;
  /** When the request has been answered and no attempt may follow, on the monotonic clock in milliseconds. */
  readonly deadline: number;
}

/** The fields of a line of the log by which a request is found. */
interface RequestFields {
  readonly requestId: string;
  readonly trace_id?: string;
}

/** The fields of a line of the log that tells of this origin. */
export const requestFields = ({ requestId, traceId }: Pick<Origin, 'requestId' | 'traceId'>): RequestFields => ({
  requestId,
  ...(traceId !== undefined && { trace_id: traceId }),
});

/** A change to commit, decided from what was read. */
export interface Step<T> extends ChangeParts {
  readonly accountId: string;
  readonly action: MutationAction;
  readonly appId?: string;
  readonly detail?: AuditRecord['detail'];
  /** The instant that counts for metering (M1); the audit holds it where it differs from that of its entry. */
  readonly countsAt?: number;
  /** An action whose class depends on its content takes something away: a nearly full store takes it all the same. */
  readonly withdraws?: boolean;
  readonly result: T;
}

/** The step with the expectations and writes of others. */
export const withParts = <S extends Step<unknown>>(
  step: S,
  ...parts: readonly (Partial<ChangeParts> | undefined)[]
): S => ({
  ...step,
  expect: [...step.expect, ...parts.flatMap((part) => part?.expect ?? [])],
  write: [...step.write, ...parts.flatMap((part) => part?.write ?? [])],
});

/** A step that takes others along. */
export interface LeadingStep<T> extends Step<T> {
  /** Changes of other records, perhaps of another account, before it in the same commit; each has its audit entry. */
  readonly first?: readonly Step<unknown>[];
}

/** The steps of one commit, in their order. */
export const stepsOf = (step: LeadingStep<unknown>): readonly Step<unknown>[] => [...(step.first ?? []), step];

/** There is nothing to commit: all is as the request wants it. */
export interface Unchanged<T> {
  readonly unchanged: T;
}

/**
 * Decides a change from the fleet as it is. It is called again with a newer reader when the commit conflicts, so it
 * must generate nothing and keep nothing.
 * @throws Refusal; StaleRead where a precondition does not hold; StoreUnavailable
 */
export type Plan<T> = (reader: FleetReader) => Promise<LeadingStep<T> | Unchanged<T>>;

export const isUnchanged = <T>(step: Step<T> | Unchanged<T>): step is Unchanged<T> => 'unchanged' in step;
