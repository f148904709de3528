import { generateMarker } from '../../domain/credentials/random-ids.ts';
import type { Deadlines } from '../../domain/limits.ts';
import type { Bindings } from '../../domain/resource-bindings/bindings.ts';
import type { Log } from '../../log.ts';
import type { Expectation } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Term } from '../leader.ts';
import { isKubeError, type KubeApi, type KubeObject } from './client/kube-api.ts';
import type { OperatorGauges, OperatorMetrics, ReconcileOutcome } from './metrics.ts';
import { KINDS } from './resources/kinds.ts';
import { createEvents, type Events } from './runtime/events.ts';
import type { Informer } from './runtime/informer.ts';
import type { Look, Notice } from './runtime/kind.ts';
import { Cell, readyOf } from './runtime/namespace-cache.ts';
import type { Runner } from './runtime/reconcile.ts';
import { parseResource, parseWorkKey } from './runtime/resource.ts';
import { createSecrets } from './runtime/secrets.ts';
import { Subscriptions } from './runtime/subscriptions.ts';
import { WorkQueue } from './runtime/work-queue.ts';

/** What a look at a resource uses of the domain, beside what the frame makes for it. */
export type DomainTools = Pick<
  Look,
  | 'fleet'
  | 'random'
  | 'accounts'
  | 'apiKeys'
  | 'apps'
  | 'otelConfigs'
  | 'rollouts'
  | 'boundAccounts'
  | 'boundKeys'
  | 'boundApps'
>;

export interface OperatorDeps {
  readonly api: KubeApi;
  readonly namespaces: readonly string[];
  readonly deviceUrl: string;
  readonly domain: DomainTools;
  /** @param fence what every commit of the leader's term expects */
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

/** Whether this replica's operator still hears the API server, for readiness. */
export interface OperatorHealth {
  /** In words; undefined: it does, or the operator does not run here. */
  trouble: () => string | undefined;
}
export const operatorHealth = (): OperatorHealth => ({ trouble: () => undefined });

const CONCURRENCY = 16;
/** Bookmarks come about once a minute: three are missing then. */
export const STALE_MS = 180_000;
const UNSYNCED_AGAIN_MS = 500;

/** The operator of custom resources, for one term. Resolves when the term has ended; never rejects. */
export async function runOperator(deps: OperatorDeps, term: Term): Promise<void> {
  const { clock, random, namespaces, domain, metrics, health } = deps;
  const queue = new WorkQueue({ clock, random, concurrency: CONCURRENCY });
  const followers = new Subscriptions();
  const cells = new Map(
    namespaces.map((namespace) => [namespace, new Cell(deps, { namespace, add: (key) => queue.add(key) })]),
  );
  const operator: Operator = {
    ...deps,
    term,
    queue,
    followers,
    statusWrittenAt: new Map(),
    cells,
    events: createEvents({ ...deps, instance: deps.replicaId }),
  };
  const stopFollowing = domain.fleet.memory.onChange((accountId, appId) => {
    for (const key of followers.of(accountId, appId)) queue.add(key);
  });
  const informers = [...cells.values()].flatMap((cell) => cell.informers);
  metrics.operatorGauges(gaugesOf(operator, informers));
  health.trouble = () => troubleOf(informers);
  try {
    await Promise.all([
      ...informers.map((informer) => informer.run(term.signal)),
      queue.run((key, signal) => workOn(operator, key, signal), term.signal),
    ]);
  } finally {
    stopFollowing();
    metrics.operatorGauges(undefined);
    health.trouble = () => undefined;
  }
}

interface Operator extends OperatorDeps {
  readonly term: Term;
  readonly queue: WorkQueue;
  readonly followers: Subscriptions;
  /** By key, on the monotonic clock. */
  readonly statusWrittenAt: Map<string, number>;
  readonly cells: ReadonlyMap<string, Cell>;
  readonly events: Events;
}

async function workOn(operator: Operator, key: string, signal: AbortSignal): Promise<number | undefined> {
  const { clock, log, metrics, queue, followers, cells } = operator;
  const { kind, namespace, name } = parseWorkKey(key);
  const cell = cells.get(namespace);
  const runner = KINDS.find(({ schema }) => schema.kind === kind);
  const informer = cell?.informer(kind);
  if (!cell || !runner || !informer) return undefined;
  const object = informer.get(name);
  // What is not in memory yet would be taken for missing, and made anew.
  const known = object?.metadata.deletionTimestamp === undefined ? cell.synced : cell.kindsSynced;
  if (!known) return UNSYNCED_AGAIN_MS;
  if (!object) {
    queue.forget(key);
    followers.forget(key);
    operator.statusWrittenAt.delete(key);
    return undefined;
  }
  const startedAt = clock.monotonic();
  let outcome: ReconcileOutcome = 'settled';
  try {
    return await lookAt(operator, { runner, cell, informer, object, key }, signal);
  } catch (error) {
    outcome = isKubeError(error, 'conflict', 'gone') ? 'conflict' : 'failed';
    const told = { err: error, kind, namespace, name };
    if (outcome === 'conflict' || signal.aborted) log.debug(told, 'a resource changed while it was looked at');
    else log.warn(told, 'a custom resource could not be settled, will retry');
    throw error;
  } finally {
    metrics.reconciled(kind, outcome, (clock.monotonic() - startedAt) / 1000);
  }
}

interface Job {
  readonly runner: Runner;
  readonly cell: Cell;
  readonly informer: Informer;
  readonly object: KubeObject;
  readonly key: string;
}

async function lookAt(operator: Operator, job: Job, signal: AbortSignal): Promise<number | undefined> {
  const { api, events, clock, statusWrittenAt } = operator;
  const { runner, informer, object } = job;
  const notices: Notice[] = [];
  const look = lookOf(operator, job, notices, signal);
  try {
    return await runner.look(object, {
      api,
      informer,
      look,
      statusWritten: () => statusWrittenAt.set(job.key, clock.monotonic()),
    });
  } finally {
    const resource = parseResource(runner.schema, object);
    for (const notice of notices) await events.tell(resource, notice, signal);
  }
}

function lookOf(operator: Operator, { runner, cell, object, key }: Job, notices: Notice[], signal: AbortSignal): Look {
  const { api, clock, deadlines, log, bindings, domain, deviceUrl, followers, term, statusWrittenAt } = operator;
  const { namespace, name, uid } = object.metadata;
  const { kind } = runner.schema;
  const origin = (): ReturnType<Look['origin']> => ({
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
    signal,
    bindings: bindings(term.fence),
    secrets: createSecrets({ api, owned: cell.owned, namespace, owner: { kind, name, uid }, signal }),
    origin,
    caller: async (accountId, precondition) => ({
      accountId,
      authority: { precondition },
      reader: await domain.fleet.current(),
      origin: origin(),
    }),
    find: (other, named) => cell.find(other, named),
    all: (other) => cell.all(other),
    follow: (accountId, appId) => followers.follow(key, accountId, appId),
    notice: (notice) => void notices.push(notice),
    sinceStatusMs: () => clock.monotonic() - (statusWrittenAt.get(key) ?? -Infinity),
  };
}

function gaugesOf(operator: Operator, informers: readonly Informer[]): OperatorGauges {
  return {
    queued: () => operator.queue.size,
    informerAges: () => {
      const ages = new Map<string, number>();
      for (const { type, ageMs } of informers) {
        ages.set(type.plural, Math.max(ages.get(type.plural) ?? 0, ageMs / 1000));
      }
      return ages;
    },
    resources: () => {
      const counts = new Map<string, number>();
      for (const cell of operator.cells.values()) {
        for (const { schema } of KINDS) {
          for (const object of cell.all(schema.kind)) {
            const label = `${schema.kind} ${readyOf(object)}`;
            counts.set(label, (counts.get(label) ?? 0) + 1);
          }
        }
      }
      return [...counts].map(
        ([label, count]) => [label.split(' ')[0] ?? '', label.split(' ')[1] ?? '', count] as const,
      );
    },
  };
}

function troubleOf(informers: readonly Informer[]): string | undefined {
  const oldest = Math.max(0, ...informers.map(({ ageMs }) => ageMs));
  if (oldest < STALE_MS) return undefined;
  return `the Kubernetes API server has said nothing for ${Math.round(oldest / 1000)} s`;
}
