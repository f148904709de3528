import type { SecretTemplate } from '../../config/kubernetes-names.ts';
import { generateMarker } from '../../domain/credentials/random-ids.ts';
import type { Deadlines } from '../../domain/limits.ts';
import type { Bindings } from '../../domain/resource-bindings/bindings.ts';
import type { Log } from '../../log.ts';
import type { Expectation } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Term } from '../leader.ts';
import { isKubeError, type KubeApi, type KubeObject } from './client/kube-api.ts';
import { AnswerRates } from './failures/answer-rates.ts';
import { FailingResources } from './failures/failing-resources.ts';
import { failureOf } from './failures/failure.ts';
import { sweepGoneResources } from './gone-resources.ts';
import { noteOfferedNamespaces } from './offered-namespaces.ts';
import type { OperatorMetrics, ReconcileOutcome } from './metrics.ts';
import { followRecoveries } from './recoveries.ts';
import { gaugesOf, troubleOf } from './operator-state.ts';
import { KINDS } from './kinds.ts';
import type { ConditionState } from './runtime/conditions.ts';
import { createEventRecorder, type EventRecorder } from './runtime/events.ts';
import type { FollowedNamespace } from './namespaces/followed-namespace.ts';
import { Following, type Followed } from './namespaces/following.ts';
import type { Informer } from './runtime/informer.ts';
import type { DomainTools, ReconcileContext, ResourceEvent } from './runtime/kind.ts';
import type { NamespaceCache } from './runtime/namespace-cache.ts';
import { isRefused, outsideOf, sayOutside, takeBackRefusal, unlistedOf, type Saying } from './namespaces/outside.ts';
import { readableNamespaceUid } from './client/namespace-uid.ts';
import type { KindReconciler } from './runtime/reconcile.ts';
import { parseWorkKey, templateOf } from './runtime/resource.ts';
import { createSecrets } from './runtime/secrets.ts';
import { Subscriptions } from './runtime/subscriptions.ts';
import { WorkQueue } from './runtime/work-queue.ts';

/** The clients, services and settings of the operator of custom resources. */
export interface OperatorDeps extends Followed {
  readonly api: KubeApi;
  /** The release that claims namespaces: its namespace and name. */
  readonly release: string;
  readonly deviceUrl: string;
  readonly secretTemplate: SecretTemplate;
  /** The path of the OpAMP endpoint on the device listener. */
  readonly opampPath: string;
  readonly domain: DomainTools;
  /** @param fence the expectations of every commit of the leader's term */
  readonly bindings: (fence: readonly Expectation[]) => Bindings;
  readonly clock: Clock;
  readonly deadlines: Pick<Deadlines, 'requestMs'>;
  readonly log: Log;
  readonly metrics: OperatorMetrics;
  readonly replicaId: string;
  /** 0 to 1. */
  readonly random: () => number;
  readonly health: OperatorHealth;
}

/** Tells the readiness probe whether this replica's operator still hears the API server. */
interface OperatorHealth {
  /** Says in words what is wrong; undefined while the server is heard, or where the operator does not run here. */
  trouble: () => string | undefined;
}
/** The health of an operator that does not run yet. */
export const operatorHealth = (): OperatorHealth => ({ trouble: () => undefined });

const CONCURRENCY = 16;
const UNSYNCED_REQUEUE_MS = 500;

/**
 * Runs the operator of custom resources for one term of the leader: namespaces are taken up and let go as they come and
 * go, informers fill their caches, changes of resources and of Muster's own records fill the queue, and each key of the
 * queue is reconciled. A reconciliation that fails is tried again with back-off. Resolves when the term has ended;
 * never rejects.
 */
export async function runOperator(deps: OperatorDeps, term: Term): Promise<void> {
  const { clock, random, domain, metrics, health } = deps;
  const queue = new WorkQueue({ clock, random, concurrency: CONCURRENCY });
  const subscriptions = new Subscriptions();
  const following = new Following(deps, (key) => queue.add(key));
  const termBindings = deps.bindings(term.fence);
  const operator: Operator = {
    ...deps,
    term,
    termBindings,
    queue,
    subscriptions,
    statusWrittenAt: new Map(),
    failing: new FailingResources(clock),
    rates: new AnswerRates(clock),
    following,
    recorder: createEventRecorder({ ...deps, instance: deps.replicaId }),
  };
  const cacheOf = (namespace: string): NamespaceCache | undefined => following.get(namespace)?.cache;
  const stopFollowing = domain.fleet.memory.onChange((accountId, appId) => {
    for (const key of subscriptions.keysOf(accountId, appId)) queue.add(key);
  });
  metrics.operatorGauges(gaugesOf(operator));
  health.trouble = () => troubleOf(following.informers());
  try {
    await Promise.all([
      following.run(term.signal),
      noteOfferedNamespaces({ ...deps, term }),
      sweepGoneResources({ ...deps, term, bindings: termBindings, cacheOf }),
      followRecoveries({ ...deps, term, cacheOf }),
      queue.run((key, signal) => workWhileFollowed(operator, key, signal), term.signal),
    ]);
  } finally {
    stopFollowing();
    metrics.operatorGauges(undefined);
    health.trouble = () => undefined;
  }
}

interface Operator extends OperatorDeps {
  readonly term: Term;
  /** The bindings as this term writes them, and knows them by name. */
  readonly termBindings: Bindings;
  readonly queue: WorkQueue;
  readonly subscriptions: Subscriptions;
  /** When this operator last wrote the status of each key, on the monotonic clock. */
  readonly statusWrittenAt: Map<string, number>;
  readonly failing: FailingResources;
  readonly rates: AnswerRates;
  readonly following: Following;
  readonly recorder: EventRecorder;
}

/** Works on a key while its namespace is followed and the operator's right to act there does not change. */
async function workWhileFollowed(operator: Operator, key: string, signal: AbortSignal): Promise<number | undefined> {
  const followed = operator.following.get(parseWorkKey(key).namespace);
  if (!followed) return forget(operator, key);
  return await followed.work(signal, (inner) => workOn(operator, key, followed, inner));
}

function forget({ queue, subscriptions, statusWrittenAt, failing, rates }: Operator, key: string): undefined {
  queue.forget(key);
  subscriptions.unsubscribe(key);
  statusWrittenAt.delete(key);
  failing.forget(key);
  rates.forget(key);
  return undefined;
}

async function workOn(
  operator: Operator,
  key: string,
  followed: FollowedNamespace,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { clock, metrics } = operator;
  const { kind, namespace, name } = parseWorkKey(key);
  const { cache } = followed;
  const reconciler = KINDS.find(({ schema }) => schema.kind === kind);
  const informer = cache?.informer(kind);
  if (!reconciler || !informer) return undefined;
  const object = informer.get(name, namespace);
  // An object that is not in memory yet would be taken for missing, and be made anew.
  if (!cache.kindsSynced) return UNSYNCED_REQUEUE_MS;
  if (!object) return forget(operator, key);
  const job = { reconciler, cache, informer, object, key };
  if (!mayActOn(operator, followed, object)) {
    return await sayWhyNot(operator, job, outsideOf(followed, operator.release), signal);
  }
  if (object.metadata.deletionTimestamp === undefined && !cache.synced) {
    await sayWhyNot(operator, job, unlistedOf(cache), signal);
    return UNSYNCED_REQUEUE_MS;
  }
  const startedAt = clock.monotonic();
  let outcome: ReconcileOutcome = 'settled';
  try {
    const requeueAfterMs = await reconcileObject(operator, job, signal);
    operator.failing.forget(key);
    return requeueAfterMs;
  } catch (error) {
    outcome = noteFailure(operator, key, error, signal);
    throw error;
  } finally {
    metrics.reconciled(kind, outcome, (clock.monotonic() - startedAt) / 1000);
  }
}

/** Counts and logs an attempt that failed. */
function noteFailure({ metrics, log }: Operator, key: string, error: unknown, signal: AbortSignal): ReconcileOutcome {
  const { kind, namespace, name } = parseWorkKey(key);
  if (!signal.aborted) metrics.reconcileFailed(kind, failureOf(error).reason);
  const outcome = isKubeError(error, 'conflict', 'gone') ? 'conflict' : 'failed';
  const fields = { err: error, kind, namespace, name };
  if (outcome === 'conflict' || signal.aborted) log.debug(fields, 'a resource changed while it was reconciled');
  else log.warn(fields, 'a custom resource could not be settled, will retry');
  return outcome;
}

/**
 * Whether the operator may act on the object. Behind one that is being deleted it cleans up also without the right to
 * Secrets, but in a namespace that goes, and its Lease with it, not where another release has held it.
 */
function mayActOn({ release }: Operator, followed: FollowedNamespace, object: KubeObject): boolean {
  if (!followed.held) return false;
  if (followed.standing === 'terminating') return !isRefused(object, release);
  return object.metadata.deletionTimestamp !== undefined || followed.standing === 'followed';
}

async function sayWhyNot(
  operator: Operator,
  job: Job,
  state: ConditionState | undefined,
  signal: AbortSignal,
): Promise<undefined> {
  // Nothing is tried here: the time without an attempt is no time in which attempts failed.
  operator.failing.forget(job.key);
  if (!state) return;
  try {
    await sayOutside(sayingOf(operator, job, signal), operator.recorder, job.object, state);
  } catch (error) {
    noteFailure(operator, job.key, error, signal);
    throw error;
  }
}

const sayingOf = ({ api, clock }: Operator, { informer, reconciler }: Job, signal: AbortSignal): Saying => ({
  api,
  informer,
  schema: reconciler.schema,
  at: clock.now(),
  signal,
});

interface Job {
  readonly reconciler: KindReconciler;
  readonly cache: NamespaceCache;
  readonly informer: Informer;
  readonly object: KubeObject;
  readonly key: string;
}

async function reconcileObject(operator: Operator, job: Job, signal: AbortSignal): Promise<number | undefined> {
  const { api, recorder, clock, statusWrittenAt, failing, release } = operator;
  const { reconciler, informer } = job;
  const { object } = isRefused(job.object, release)
    ? { object: await takeBackRefusal(sayingOf(operator, job, signal), job.object) }
    : job;
  const happened: ResourceEvent[] = [];
  const context = contextOf(operator, job, happened, signal);
  try {
    return await reconciler.reconcile(object, {
      api,
      informer,
      context,
      statusWritten: () => statusWrittenAt.set(job.key, clock.monotonic()),
      attemptFailed: (failure) => failing.failed(job.key, failure),
    });
  } finally {
    const { kind } = reconciler.schema;
    for (const event of happened) await recorder.record({ kind, object }, event, signal);
  }
}

function contextOf(
  operator: Operator,
  { reconciler, cache, object, key }: Job,
  happened: ResourceEvent[],
  signal: AbortSignal,
): ReconcileContext {
  const { api, clock, log, termBindings, domain, subscriptions, statusWrittenAt } = operator;
  const { deadlines, deviceUrl, opampPath, rates } = operator;
  const { namespace, name, uid } = object.metadata;
  const { kind } = reconciler.schema;
  const { owned, headers } = cache;
  const template = templateOf(object, operator.secretTemplate);
  const origin = (): ReturnType<ReconcileContext['origin']> => ({
    actor: `kubernetes:${namespace}/${kind}/${name}`,
    requestId: generateMarker(domain.random),
    at: clock.now(),
    deadline: clock.monotonic() + deadlines.requestMs,
  });
  return {
    ...domain,
    clock,
    log,
    deviceUrl,
    opampPath,
    signal,
    bindings: termBindings,
    secrets: createSecrets({ api, owned, headers, namespace, owner: { kind, name, uid }, template, signal }),
    rates: rates.of(key),
    origin,
    caller: async (accountId, precondition) => ({
      accountId,
      authority: { precondition },
      reader: await domain.fleet.current(),
      origin: origin(),
    }),
    find: (other, named) => cache.find(other, named),
    all: (other) => cache.all(other),
    subscribe: (accountId, appId) => subscriptions.subscribe(key, accountId, appId),
    event: (event) => void happened.push(event),
    namespaceUid: () => readableNamespaceUid(api, namespace, signal),
    sinceStatusMs: () => clock.monotonic() - (statusWrittenAt.get(key) ?? -Infinity),
  };
}
