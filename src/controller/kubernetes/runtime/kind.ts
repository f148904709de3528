import type * as z from 'zod';
import type { Accounts } from '../../../domain/accounts/accounts.ts';
import type { ApiKeys } from '../../../domain/accounts/api-keys.ts';
import type { Apps } from '../../../domain/apps/apps.ts';
import type { Caller } from '../../../domain/apps/own-app.ts';
import type { RandomSource } from '../../../domain/credentials/random-ids.ts';
import type { GeneratedCredential } from '../../../domain/devices/bound-enrollment.ts';
import type { Fleet } from '../../../domain/fleet/fleet.ts';
import type { Precondition } from '../../../domain/mutation/authority.ts';
import type { Origin } from '../../../domain/mutation/step.ts';
import type { OtelConfigs } from '../../../domain/otel-config/otel-config.ts';
import type { Rollouts } from '../../../domain/rollouts/rollouts.ts';
import type { RefusalCode } from '../../../domain/refusal.ts';
import type { Bindings } from '../../../domain/resource-bindings/bindings.ts';
import type { BoundAccounts } from '../../../domain/resource-bindings/bound-accounts.ts';
import type { BoundApps } from '../../../domain/resource-bindings/bound-apps.ts';
import type { BoundKeys } from '../../../domain/resource-bindings/bound-keys.ts';
import type { GoneResources } from '../../../domain/resource-bindings/gone-resources.ts';
import type { OfferedNamespaces } from '../../../domain/resource-bindings/offered-namespaces.ts';
import type { Recoveries } from '../../../domain/resource-bindings/recoveries.ts';
import type { Log } from '../../../log.ts';
import type { Clock } from '../../../time/clock.ts';
import type { KubeObject } from '../client/kube-api.ts';
import type { KindName, KindSchema } from '../schema/common.ts';
import type { Cause, ResourceRates } from '../failures/answer-rates.ts';
import type { ConditionState } from './conditions.ts';
import type { Resource } from './resource.ts';
import type { Secrets } from './secrets.ts';

/*
 * A kind of custom resource (ADR 0020) gathers facts, decides from them in a pure function, and acts. A
 * reconciliation repeats this: as long as a step is to be done, that one step is done and the facts are gathered anew;
 * when no step is left the status is written. Each step is safe to repeat, and the process may end between any two.
 */

/** One kind of custom resource: its schema, and its gather, decide and act. */
export interface Kind<Spec extends z.ZodType, Status extends z.ZodType, Facts, Step extends { readonly do: string }> {
  readonly schema: KindSchema<Spec, Status>;
  /** Reads what the decision depends on; changes nothing. @throws KubeError, StoreUnavailable, BadRecord */
  gather(resource: Resource<z.infer<Spec>, z.infer<Status>>, context: ReconcileContext): Promise<Facts>;
  /** Names the next step, or the status where no step is left. It is pure: it reads neither clock nor store. */
  decide(
    resource: Resource<z.infer<Spec>, z.infer<Status>>,
    facts: Facts,
    now: Instant,
  ): Decision<Step, z.infer<Status>>;
  /**
   * The status of a resource of which a step failed: all that the facts tell, with this condition `Ready`. A condition
   * that the facts do not tell is `Unknown`. It is pure.
   */
  failing(
    resource: Resource<z.infer<Spec>, z.infer<Status>>,
    facts: Facts,
    failed: { readonly ready: ConditionState; readonly at: number },
  ): Settled<z.infer<Status>>;
  /**
   * The cause of a step that has a rate of its own: all that is written because somebody has changed something.
   * Undefined for a first write, for one that takes access away or goes on with one that was begun, and for a note. It
   * is pure.
   */
  causeOf(step: Step, resource: Resource<z.infer<Spec>, z.infer<Status>>, facts: Facts): Answer | undefined;
  /**
   * Does one step; safe to repeat.
   * @throws Refusal where the rules refuse the step; KubeError, StoreUnavailable, Busy, StaleRead: to be tried again
   */
  act(
    step: Step,
    resource: Resource<z.infer<Spec>, z.infer<Status>>,
    facts: Facts,
    context: ReconcileContext,
  ): Promise<void>;
}

/** A write in answer to a change. */
export interface Answer {
  readonly cause: Cause;
  /** The Secret that was changed, if it was one. */
  readonly secret?: string | undefined;
}

/** The instant of a decision, and the steps that were refused so far in this reconciliation. */
export interface Instant {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly refused: readonly Refused[];
}

/** A step that the rules refused: it is not tried again in this reconciliation. */
export interface Refused {
  readonly do: string;
  readonly code: RefusalCode;
  readonly says: string | undefined;
}

/** Either one step to do, or the status of a resource for which no step is left. */
export type Decision<Step, Status> = { readonly step: Step } | Settled<Status>;

/** The result of a decision when no step is left. */
export interface Settled<Status> {
  readonly settled: {
    /** All of the status but its conditions: a field that is not named is removed. */
    readonly status: Omit<Status, 'conditions'>;
    /** `Ready` among them. */
    readonly conditions: readonly ConditionState[];
    /** After so many milliseconds the resource is reconciled again, though nothing seems to have changed. */
    readonly requeueAfterMs?: number;
    /** Keeps the finalizer of a resource that is being deleted, until a later decision lets it go. */
    readonly held?: true;
  };
}
/** The decision on a resource that is being deleted and has nothing left to clean up: it may go. */
export const CLEAN = { settled: { status: {}, conditions: [] } } as const;

/** An event for the person who reads `kubectl describe`. */
export interface ResourceEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note: string;
}

/** The part of the domain that every reconciliation shares. */
export interface DomainTools {
  readonly fleet: Fleet;
  readonly random: RandomSource;
  readonly accounts: Accounts;
  readonly apiKeys: ApiKeys;
  readonly apps: Apps;
  readonly otelConfigs: OtelConfigs;
  readonly rollouts: Rollouts;
  readonly boundAccounts: BoundAccounts;
  readonly boundKeys: BoundKeys;
  readonly boundApps: BoundApps;
  /** Enrolls an app with a credential that is in a Secret; see `enrollBound` in domain/devices. */
  readonly enrollBound: (caller: Caller, appId: string, credential: GeneratedCredential) => Promise<void>;
  readonly goneResources: GoneResources;
  readonly offeredNamespaces: OfferedNamespaces;
  readonly recoveries: Recoveries;
}

/** The part of the cluster that a reconciliation sees: the namespace of its resource, and nothing else. */
export interface NamespaceView {
  /** The resource of that kind and name, as memory has it. */
  find(kind: KindName, name: string): KubeObject | undefined;
  /** All resources of a kind, as memory has them. */
  all(kind: KindName): Iterable<KubeObject>;
  readonly secrets: Secrets;
}

/** The part that is made for one reconciliation of one resource. */
interface ReconcileRun {
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the leader's term ends. */
  readonly signal: AbortSignal;
  /** The bindings of custom resources; each write is fenced by the leader's term. */
  readonly bindings: Bindings;
  /** The URL of the device listener, for daemons. */
  readonly deviceUrl: string;
  /** The path of the OpAMP endpoint on the device listener. */
  readonly opampPath: string;
  /** The origin of one mutation, now; its actor is `kubernetes:<namespace>/<kind>/<name>`. */
  origin(): Origin;
  /** The caller for a mutation of what belongs to the account. @throws StoreUnavailable */
  caller(accountId: string, precondition: Precondition): Promise<Caller>;
  /**
   * Has the resource reconciled again when the account changes in Muster, or with an app when that app changes. Only
   * the last call for a resource counts.
   */
  subscribe(accountId: string, appId?: string): void;
  /** Keeps an event, which is written when the reconciliation has ended. */
  event(event: ResourceEvent): void;
  /**
   * The UID of the resource's namespace, as the API server has it; undefined where it may not be read.
   * @throws KubeError
   */
  namespaceUid(): Promise<string | undefined>;
  /** The rate at which the resource's changes are answered. */
  readonly rates: ResourceRates;
  /** Milliseconds since this operator last wrote the resource's status in this term; Infinity where it has not. */
  sinceStatusMs(): number;
}

/** Everything that a kind may use in one reconciliation of one resource. */
export interface ReconcileContext extends DomainTools, NamespaceView, ReconcileRun {}
