import type { Log } from '../../../log.ts';
import type { Clock } from '../../../time/clock.ts';
import { backOffMs } from '../client/back-off.ts';
import { isKubeError, type KubeApi, type KubeObject, type ResourceType } from '../client/kube-api.ts';
import { GROUP } from '../schema/common.ts';
import type { InformerMetrics } from './metrics.ts';

/*
 * The objects of one type in one namespace, or in all, in memory: listed, then followed by a watch. Nothing ends it but
 * its signal: a list or watch that fails is tried again with back-off, a revision that is gone (410) is listed anew,
 * and every ten minutes all is listed anew in any case, since a watch may have lost an event silently.
 */

export interface InformerDeps {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: InformerMetrics;
  /** 0 to 1. */
  readonly random: () => number;
}

interface InformerOptions {
  readonly type: ResourceType;
  /** Undefined: the objects of the whole cluster. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Reduces an object to what memory holds, with its `metadata`; undefined where the object cannot be used. */
  readonly keep?: (object: KubeObject) => KubeObject | undefined;
  /** Called for each change, also for one that a listing found. An error that it throws is logged. */
  readonly onChange: (change: Change) => void;
  /** Called when all has been listed. */
  readonly onListed?: () => void;
  /** Called when the server begins to refuse for want of a right (403), and when it stops. */
  readonly onRefused?: () => void;
}

export interface Change {
  /** The object as it is; undefined where it is gone. */
  readonly now: KubeObject | undefined;
  /** The object as it was; undefined where it is new. */
  readonly before: KubeObject | undefined;
  /** Whether this is the answer to an own write (`written`). */
  readonly own: boolean;
}

const PAGE_OBJECTS = 500;
const RELIST_MS = 600_000;
const WATCH_SECONDS_MAX = 300;
/** A watch that ends sooner, without an event, counts as a failure. */
const WATCH_MS_MIN = 1000;
const BACK_OFF = { firstMs: 500, maxMs: 30_000 };

/** Keeps the objects of one type, in one namespace or in all, in memory, and reports their changes. */
export class Informer {
  readonly #deps: InformerDeps;
  readonly #options: InformerOptions;
  /** The objects by namespace and name. */
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  #resourceVersion: string | undefined;
  #relistAt = 0;
  #heardAt: number;
  /**
   * Counts pages and events, not the mere opening of a watch: a server that only opens and ends it gets the back-off.
   */
  #received = 0;
  #synced = false;
  #refused = false;
  #isUndefined = false;

  constructor(deps: InformerDeps, options: InformerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#heardAt = deps.clock.monotonic();
  }

  /** Whether all was listed at least once: an object that is not here did not exist then. */
  get synced(): boolean {
    return this.#synced;
  }

  get type(): ResourceType {
    return this.#options.type;
  }

  /** Milliseconds since the server was last heard; of one that never was, since it is asked. */
  get ageMs(): number {
    return this.#deps.clock.monotonic() - this.#heardAt;
  }

  /** Whether the server refused the last request that it answered for want of a right (403). */
  get refused(): boolean {
    return this.#refused;
  }

  /** Whether the cluster lacks the CustomResourceDefinition of the resource. */
  get isUndefined(): boolean {
    return this.#isUndefined;
  }

  /** @param namespace where the informer is of the whole cluster; empty for an object that lies in none */
  get(name: string, namespace: string = this.#options.namespace ?? ''): KubeObject | undefined {
    return this.#objects.get(namespace)?.get(name);
  }

  /** @param namespace where the informer is of the whole cluster; empty for objects that lie in none */
  objects(namespace: string = this.#options.namespace ?? ''): Iterable<KubeObject> {
    return this.#objects.get(namespace)?.values() ?? [];
  }

  /** The objects of every namespace. */
  *everywhere(): Iterable<KubeObject> {
    for (const named of this.#objects.values()) yield* named.values();
  }

  /** Takes the answer to an own write of an object that was read here: the watch may take a while to bring it. */
  written(answer: KubeObject, read: KubeObject | undefined): void {
    const known = this.get(answer.metadata.name, answer.metadata.namespace);
    if (known?.metadata.resourceVersion === read?.metadata.resourceVersion) this.#take(answer, true);
  }

  /** Lists and watches until the signal aborts; failures are tried again with back-off. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, metrics, random } = this.#deps;
    const { plural } = this.#options.type;
    let failures = 0;
    let wasLeaving = false;
    this.#heardAt = clock.monotonic();
    while (!signal.aborted) {
      const received = this.#received;
      try {
        await this.#listWhenDue(signal);
        await this.#follow(signal);
        failures = 0;
        wasLeaving = false;
      } catch (error) {
        if (signal.aborted) return;
        if (isKubeError(error, 'expired')) this.#resourceVersion = undefined;
        // An outage tells nothing of rights: taken for an end of the refusal, it would change what resources say.
        if (!isKubeError(error, 'unavailable', 'throttled')) {
          this.#setRefused(isKubeError(error, 'refused') && error.status === 403);
        }
        failures = this.#received > received ? 1 : failures + 1;
        if (this.#lacksDefinition(error)) {
          await clock.sleep(backOffMs(failures, BACK_OFF, random), signal);
          continue;
        }
        const fields = { err: error, resource: plural, namespace: this.#options.namespace, failures };
        const isLeaving = await this.#isNamespaceLeaving(error, signal);
        if (isLeaving) this.#heardAt = clock.monotonic();
        else metrics.informerFailed(plural, isKubeError(error) ? error.reason : 'unreadable');
        // Nobody needs to act on a server that restarts or rejects requests; somebody must act on one that stays away.
        // A namespace that does not exist gets one warning: a misspelt name in the configuration looks the same.
        if (isLeaving) log[wasLeaving ? 'debug' : 'warn'](fields, 'the namespace is being deleted, or there is none');
        else if (failures < 5) log.info(fields, 'a list or watch ended, will retry');
        else log.warn(fields, 'a list or watch failed again, will retry');
        wasLeaving = isLeaving;
        await clock.sleep(backOffMs(failures, BACK_OFF, random, error), signal);
      }
    }
  }

  /**
   * Whether the server refuses because the namespace is being deleted: it loses its Roles, perhaps before its
   * resources, and such a refusal is no failure.
   */
  async #isNamespaceLeaving(cause: unknown, signal: AbortSignal): Promise<boolean> {
    const { namespace } = this.#options;
    if (namespace === undefined || !isKubeError(cause, 'refused') || cause.status !== 403) return false;
    return await this.#deps.api.isLeaving(namespace, signal).catch(() => false);
  }

  /** Notes and tells, once, that the API server knows no such path: the words of its 404 are of no use to anybody. */
  #lacksDefinition(error: unknown): boolean {
    const { group, plural } = this.#options.type;
    if (group !== GROUP || !isKubeError(error, 'gone')) return false;
    this.#deps.metrics.informerFailed(plural, 'no_definition');
    const words = `the cluster has no definition of ${plural}.${group}: apply the chart's CRDs (crds.install=true)`;
    this.#deps.log[this.#isUndefined ? 'debug' : 'warn']({ resource: plural }, words);
    this.#isUndefined = true;
    return true;
  }

  async #listWhenDue(signal: AbortSignal): Promise<void> {
    const { api, clock, metrics, random } = this.#deps;
    const { type, namespace } = this.#options;
    if (this.#resourceVersion !== undefined && clock.monotonic() < this.#relistAt) return;
    const found = new Map<string, KubeObject>();
    const placeOf = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`;
    let next: string | undefined;
    let resourceVersion: string;
    do {
      const request = { limit: PAGE_OBJECTS, next, ...this.#selectors };
      const page = await api.list(type, namespace, request, signal);
      for (const object of page.items) found.set(placeOf(object), object);
      ({ next, resourceVersion } = page);
      this.#heard();
    } while (next !== undefined);
    metrics.informerListed(type.plural);
    for (const named of this.#objects.values()) {
      for (const known of named.values()) if (!found.has(placeOf(known))) this.#drop(known);
    }
    for (const object of found.values()) this.#take(object);
    this.#resourceVersion = resourceVersion;
    this.#relistAt = clock.monotonic() + RELIST_MS * (0.9 + 0.2 * random());
    this.#synced = true;
    this.#options.onListed?.();
  }

  get #selectors(): { readonly labelSelector?: string; readonly fieldSelector?: string } {
    const { labelSelector, fieldSelector } = this.#options;
    return {
      ...(labelSelector !== undefined && { labelSelector }),
      ...(fieldSelector !== undefined && { fieldSelector }),
    };
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { api, clock, random } = this.#deps;
    const { type, namespace } = this.#options;
    const openedAt = clock.monotonic();
    const left = Math.max(1, Math.ceil((this.#relistAt - openedAt) / 1000));
    const request = {
      resourceVersion: this.#resourceVersion ?? '',
      timeoutSeconds: Math.min(left, Math.ceil(WATCH_SECONDS_MAX * (0.8 + 0.2 * random()))),
      ...this.#selectors,
    };
    const received = this.#received;
    for await (const event of api.watch(type, namespace, request, signal)) {
      if (event.type === 'OPENED') {
        this.#heardAt = clock.monotonic();
        this.#setRefused(false);
        continue;
      }
      this.#heard();
      if (event.type === 'BOOKMARK') this.#resourceVersion = event.resourceVersion;
      else {
        this.#resourceVersion = event.object.metadata.resourceVersion;
        if (event.type === 'DELETED') this.#dropped(event.object);
        else this.#take(event.object);
      }
    }
    const lasted = clock.monotonic() - openedAt;
    if (this.#received === received && lasted < WATCH_MS_MIN && !signal.aborted)
      throw new Error('the watch ended as it began');
    this.#heardAt = clock.monotonic();
  }

  #heard(): void {
    this.#heardAt = this.#deps.clock.monotonic();
    this.#received += 1;
    this.#isUndefined = false;
    this.#setRefused(false);
  }

  #setRefused(refused: boolean): void {
    if (this.#refused === refused) return;
    this.#refused = refused;
    this.#options.onRefused?.();
  }

  #take(object: KubeObject, own = false): void {
    const { name, namespace, resourceVersion } = object.metadata;
    const before = this.get(name, namespace);
    if (before?.metadata.resourceVersion === resourceVersion) return;
    const kept = this.#options.keep ? this.#options.keep(object) : object;
    if (!kept) return this.#drop(object);
    let named = this.#objects.get(namespace);
    if (!named) this.#objects.set(namespace, (named = new Map<string, KubeObject>()));
    named.set(name, kept);
    this.#report({ now: kept, before, own });
  }

  /** An own write that replaced the object may have been quicker than the end of the former one. */
  #dropped(object: KubeObject): void {
    const { name, namespace, uid } = object.metadata;
    if (this.get(name, namespace)?.metadata.uid === uid) this.#drop(object);
  }

  #drop({ metadata: { name, namespace } }: KubeObject): void {
    const named = this.#objects.get(namespace);
    const before = named?.get(name);
    if (!named || !before) return;
    named.delete(name);
    if (named.size === 0) this.#objects.delete(namespace);
    this.#report({ now: undefined, before, own: false });
  }

  #report(change: Change): void {
    try {
      this.#options.onChange(change);
    } catch (error) {
      this.#deps.log.error({ err: error, resource: this.#options.type.plural }, 'a change could not be handled');
    }
  }
}
