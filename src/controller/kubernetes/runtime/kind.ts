import type * as z from 'zod';
import type { Accounts } from '../../../domain/accounts/accounts.ts';
import type { ApiKeys } from '../../../domain/accounts/api-keys.ts';
import type { Apps, Caller } from '../../../domain/apps/apps.ts';
import type { RandomSource } from '../../../domain/credentials/random-ids.ts';
import type { Fleet } from '../../../domain/fleet/fleet.ts';
import type { Precondition } from '../../../domain/mutation/authority.ts';
import type { Origin } from '../../../domain/mutation/step.ts';
import type { OtelConfigs } from '../../../domain/otel-config/otel-config.ts';
import type { Rollouts } from '../../../domain/otel-config/rollout.ts';
import type { RefusalCode } from '../../../domain/refusal.ts';
import type { Bindings } from '../../../domain/resource-bindings/bindings.ts';
import type { BoundAccounts } from '../../../domain/resource-bindings/bound-accounts.ts';
import type { BoundApps } from '../../../domain/resource-bindings/bound-apps.ts';
import type { BoundKeys } from '../../../domain/resource-bindings/bound-keys.ts';
import type { Log } from '../../../log.ts';
import type { Clock } from '../../../time/clock.ts';
import type { KubeObject } from '../client/kube-api.ts';
import type { KindName, KindSchema } from '../schema/common.ts';
import type { Finding } from './conditions.ts';
import type { Resource } from './resource.ts';
import type { Secrets } from './secrets.ts';

/*
 * What a kind is (docs/adr/0020): it gathers facts, decides from them in a pure function, and acts. One look at a
 * resource is a chain of these: as long as something is to be done, one step is done and the facts are gathered anew;
 * when nothing is left the status is written. Each step is safe to repeat, and the process may end between any two.
 */

export interface Kind<Spec extends z.ZodType, Status extends z.ZodType, Facts, Step extends { readonly do: string }> {
  readonly schema: KindSchema<Spec, Status>;
  gather(resource: Resource<z.infer<Spec>, z.infer<Status>>, look: Look): Promise<Facts>;
  decide(
    resource: Resource<z.infer<Spec>, z.infer<Status>>,
    facts: Facts,
    now: Instant,
  ): Decision<Step, z.infer<Status>>;
  act(step: Step, resource: Resource<z.infer<Spec>, z.infer<Status>>, facts: Facts, look: Look): Promise<void>;
}

/** When a look decides, and what its steps have been refused so far. */
export interface Instant {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly refused: readonly Refused[];
}

/** A step that the rules refused: it is not tried again in this look. */
export interface Refused {
  readonly do: string;
  readonly code: RefusalCode;
  readonly says: string | undefined;
}

/** Either one step to do, or nothing is left. */
export type Decision<Step, Status> = { readonly step: Step } | Settled<Status>;

export interface Settled<Status> {
  readonly settled: {
    /** All of the status but its conditions: what is not named is removed. */
    readonly status: Omit<Status, 'conditions'>;
    /** `Ready` among them. */
    readonly findings: readonly Finding[];
    /** Look again after so long, though nothing seems to have changed. */
    readonly againMs?: number;
  };
}
/** Nothing is left of a resource that is being deleted: it may go. */
export const CLEAN = { settled: { status: {}, findings: [] } } as const;

/** What the person who reads `kubectl describe` should know has happened. */
export interface Notice {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note: string;
}

/** The tools of one look at one resource. */
export interface Look {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
  readonly fleet: Fleet;
  readonly accounts: Accounts;
  readonly apiKeys: ApiKeys;
  readonly apps: Apps;
  readonly otelConfigs: OtelConfigs;
  readonly rollouts: Rollouts;
  readonly boundAccounts: BoundAccounts;
  readonly boundKeys: BoundKeys;
  readonly boundApps: BoundApps;
  /** Fenced by the leader's term. */
  readonly bindings: Bindings;
  readonly secrets: Secrets;
  /** Of the device listener, for daemons. */
  readonly deviceUrl: string;
  readonly signal: AbortSignal;
  /** For one mutation: `kubernetes:<namespace>/<kind>/<name>`, now. */
  origin(): Origin;
  /** For a mutation of what is an account's own. */
  caller(accountId: string, precondition: Precondition): Promise<Caller>;
  /** Of the same namespace, as memory has it. */
  find(kind: KindName, name: string): KubeObject | undefined;
  /** All of a kind in the same namespace. */
  all(kind: KindName): Iterable<KubeObject>;
  /** Look again when the account, or one app of it, changes in Muster; of what is followed the last call counts. */
  follow(accountId: string, appId?: string): void;
  notice(notice: Notice): void;
  /** Since this operator last wrote the resource's status, in this term; Infinity where it has not. */
  sinceStatusMs(): number;
}
