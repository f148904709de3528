import { generateMarker } from '../../domain/credentials/random-ids.ts';
import type { Deadlines } from '../../domain/limits.ts';
import { StaleRead } from '../../domain/mutation/stale-read.ts';
import type { BindingOf, Bindings } from '../../domain/resource-bindings/bindings.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import { isKubeError, type KubeApi, type KubeObject } from './client/kube-api.ts';
import type { OperatorMetrics } from './metrics.ts';
import type { DomainTools } from './runtime/kind.ts';
import type { NamespaceCache } from './runtime/namespace-cache.ts';
import { resourceTypeOf } from './runtime/resource.ts';
import { KIND_SCHEMAS } from './schema/crd.ts';

/*
 * A resource whose finalizer was removed by force leaves its binding behind; so do a definition or a namespace that was
 * removed so. The leader looks for such bindings and removes them. The API server itself must say that there is no
 * resource of that kind, namespace, name and UID: a resource that memory does not have may have come since. And it must
 * know one of the other resources by its UID, since an API server of another cluster knows none of them. Nothing is
 * removed from a namespace while its resources are restored.
 */

interface GoneResourcesDeps {
  readonly api: Pick<KubeApi, 'get' | 'namespaceUid'>;
  readonly term: { readonly signal: AbortSignal };
  readonly bindings: Bindings;
  readonly domain: Pick<DomainTools, 'goneResources' | 'random'> & {
    readonly recoveries: Pick<DomainTools['recoveries'], 'all'>;
  };
  /** The memory of a namespace that is followed. */
  readonly cacheOf: (namespace: string) => Pick<NamespaceCache, 'find' | 'kindsSynced'> | undefined;
  readonly clock: Clock;
  readonly deadlines: Pick<Deadlines, 'requestMs'>;
  readonly log: Log;
  readonly metrics: Pick<OperatorMetrics, 'bindingForgotten'>;
}

/** The pause between two rounds; the first begins as soon as the resources are in memory. */
export const ROUND_MS = 600_000;
/** The first pause while not all namespaces are in memory; it doubles with each. */
const INCOMPLETE_MS = 1000;
/** The most bindings of one round: the next round goes on after them. */
const BINDINGS_MAX = 1000;
/** The most questions to the API server in one round. */
const QUESTIONS_MAX = 200;

/** Looks for bindings without a resource until the term ends. Never rejects. */
export async function sweepGoneResources(deps: GoneResourcesDeps): Promise<void> {
  const { clock, log, term } = deps;
  let after = '';
  let incomplete = 0;
  while (!term.signal.aborted) {
    let pauseMs = ROUND_MS;
    try {
      const round = await sweepRound(deps, after);
      after = round.after;
      incomplete = round.incomplete ? incomplete + 1 : 0;
      if (round.incomplete) pauseMs = Math.min(ROUND_MS, INCOMPLETE_MS * 2 ** (incomplete - 1));
    } catch (error) {
      if (term.signal.aborted) return;
      log.info({ err: error }, 'the bindings of custom resources were not all compared, will retry');
    }
    await clock.sleep(pauseMs, term.signal);
  }
}

/**
 * Compares a bounded number of bindings with the resources.
 * @param after the UID after which to begin
 * @returns where the next round begins, `''` at the beginning; and whether a namespace was not in memory, or nothing
 * was
 * @throws KubeError, StoreUnavailable, BadRecord, Busy
 */
export async function sweepRound(
  deps: GoneResourcesDeps,
  after: string,
): Promise<{ readonly after: string; readonly incomplete: boolean }> {
  const { bindings } = deps;
  const missing: BindingOf[] = [];
  const alive = new Set<string>();
  let [seen, unread, next] = [0, 0, ''];
  for await (const binding of bindings.all(after)) {
    const cache = deps.cacheOf(binding.record.namespace);
    if (cache?.kindsSynced !== true) unread += 1;
    if (isThere(cache, binding)) alive.add(binding.record.namespace);
    else missing.push(binding);
    seen += 1;
    if (seen < BINDINGS_MAX && missing.length < QUESTIONS_MAX) continue;
    next = binding.uid;
    break;
  }
  if (alive.size > 0 && missing.length > 0) {
    const restored = await restoredNamespaces(deps, missing);
    const isSettled = (namespace: string): boolean =>
      !restored.has(namespace) && (restored.size === 0 || alive.has(namespace));
    await forgetGone(
      deps,
      bindings,
      missing.filter(({ record }) => isSettled(record.namespace)),
    );
  }
  return { after: next, incomplete: unread > 0 || (alive.size === 0 && missing.length > 0) };
}

type View = Pick<NamespaceCache, 'find'> | undefined;

/** The resource of the binding's names, as memory has it. */
function namesake(cache: View, { record }: BindingOf): KubeObject | undefined {
  const schema = KIND_SCHEMAS.find(({ kind }) => kind === record.kind);
  return schema && cache?.find(schema.kind, record.name);
}

const isThere = (cache: View, binding: BindingOf): boolean => namesake(cache, binding)?.metadata.uid === binding.uid;

/**
 * The namespaces whose resources come back under new UIDs, one after the other: a consent holds for them, or one of
 * their resources waits for it. Their bindings are what they need then (ADR 0064). While there are any, a namespace of
 * which no resource is known by its UID may be the next one to be restored.
 */
async function restoredNamespaces(
  { domain, bindings, cacheOf, clock }: GoneResourcesDeps,
  missing: readonly BindingOf[],
): Promise<ReadonlySet<string>> {
  const restored = new Set<string>();
  for await (const { namespace, until } of domain.recoveries.all()) if (clock.now() < until) restored.add(namespace);
  for (const binding of missing) {
    const { namespace } = binding.record;
    const other = restored.has(namespace) ? undefined : namesake(cacheOf(namespace), binding);
    if (other && !(await bindings.get(other.metadata.uid))) restored.add(namespace);
  }
  return restored;
}

async function forgetGone(deps: GoneResourcesDeps, bindings: Bindings, missing: readonly BindingOf[]): Promise<void> {
  const { domain, clock, deadlines, log, metrics } = deps;
  for (const gone of missing) {
    if (!(await isGone(deps, gone))) continue;
    const { kind, namespace, name, accountId, appId, key, previousKey } = gone.record;
    const origin = {
      actor: `kubernetes:${namespace}/${kind}/${name}`,
      requestId: generateMarker(domain.random),
      at: clock.now(),
      deadline: clock.monotonic() + deadlines.requestMs,
    };
    try {
      await domain.goneResources.forget(origin, bindings, gone);
    } catch (error) {
      // It has changed since, or the term has ended.
      if (error instanceof StaleRead) continue;
      throw error;
    }
    metrics.bindingForgotten(kind);
    const keys = { keyId: key?.keyId, previousKeyId: previousKey?.keyId };
    const fields = { kind, namespace, name, uid: gone.uid, accountId, appId, ...keys };
    log.warn(fields, 'a custom resource is gone without its clean-up; what it stood for is left as it is');
  }
}

/**
 * Whether the API server says that there is no such resource. One that may not be read may be there, and one of another
 * UID without a binding may be this one, restored.
 */
async function isGone(
  { api, bindings, term: { signal }, cacheOf }: GoneResourcesDeps,
  { uid, record }: BindingOf,
): Promise<boolean> {
  const { kind, namespace, name } = record;
  const schema = KIND_SCHEMAS.find((known) => known.kind === kind);
  if (!schema) return false;
  try {
    // A namespace that is gone may take the right to read its resources with it.
    if (cacheOf(namespace)?.kindsSynced !== true) return (await api.namespaceUid(namespace, signal)) === undefined;
    const found = await api.get(resourceTypeOf(schema), namespace, name, signal);
    if (!found) return true;
    return found.metadata.uid !== uid && (await bindings.get(found.metadata.uid)) !== undefined;
  } catch (error) {
    if (isKubeError(error, 'refused')) return false;
    throw error;
  }
}
