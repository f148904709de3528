import type { Log } from '../../../log.ts';
import type { Clock } from '../../../time/clock.ts';
import { backOffMs } from '../client/back-off.ts';
import { isKubeError, type KubeApi, type KubeObject, type ResourceType } from '../client/kube-api.ts';
import type { InformerMetrics } from './metrics.ts';

/*
 * The objects of one type in one namespace, in memory: listed, then followed by a watch. Nothing ends it but its
 * signal: a list or watch that fails is tried again with back-off, a revision that is gone (410) is listed anew, and
 * every ten minutes all is listed anew in any case, since a watch may have lost something without a word.
 */

export interface InformerDeps {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: InformerMetrics;
  /** 0 to 1. */
  readonly random: () => number;
}

export interface InformerOptions {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly labelSelector?: string;
  /** What is kept of an object; undefined where it cannot be used. It must keep `metadata`. */
  readonly keep?: (object: KubeObject) => KubeObject | undefined;
  /** Called for each change, also for those that a listing found. What it throws is logged. */
  readonly onChange: (change: Change) => void;
}

export interface Change {
  /** Undefined: it is gone. */
  readonly now: KubeObject | undefined;
  /** Undefined: it is new. */
  readonly before: KubeObject | undefined;
  /** The answer to an own write (`written`). */
  readonly own: boolean;
}

const PAGE_OBJECTS = 500;
const RELIST_MS = 600_000;
const WATCH_SECONDS_MAX = 300;
/** A watch that ends sooner, and said nothing, counts as a failure. */
const WATCH_MS_MIN = 1000;
const BACK_OFF = { firstMs: 500, maxMs: 30_000 };

export class Informer {
  readonly #deps: InformerDeps;
  readonly #options: InformerOptions;
  readonly #objects = new Map<string, KubeObject>();
  #resourceVersion: string | undefined;
  #relistAt = 0;
  #heardAt: number;
  /** Pages and events, not the mere opening of a watch: a server that opens each and ends it is no reason to hurry. */
  #said = 0;
  #synced = false;

  constructor(deps: InformerDeps, options: InformerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#heardAt = deps.clock.monotonic();
  }

  /** Listed at least once: what is not here did not exist then. */
  get synced(): boolean {
    return this.#synced;
  }

  get type(): ResourceType {
    return this.#options.type;
  }

  /** Since the server last said anything. */
  get ageMs(): number {
    return this.#deps.clock.monotonic() - this.#heardAt;
  }

  get(name: string): KubeObject | undefined {
    return this.#objects.get(name);
  }

  objects(): IterableIterator<KubeObject> {
    return this.#objects.values();
  }

  /** The answer to an own write of what was read here: the watch may take a while to bring it. */
  written(answer: KubeObject, read: KubeObject | undefined): void {
    const known = this.#objects.get(answer.metadata.name);
    if (known?.metadata.resourceVersion === read?.metadata.resourceVersion) this.#take(answer, true);
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, metrics, random } = this.#deps;
    const { plural } = this.#options.type;
    let failures = 0;
    let isAway = false;
    while (!signal.aborted) {
      const said = this.#said;
      try {
        await this.#listWhenDue(signal);
        await this.#follow(signal);
        failures = 0;
        isAway = false;
      } catch (error) {
        if (signal.aborted) return;
        if (isKubeError(error, 'expired')) this.#resourceVersion = undefined;
        failures = this.#said > said ? 1 : failures + 1;
        const told = { err: error, resource: plural, namespace: this.#options.namespace, failures };
        const farewell = await this.#isFarewell(error, signal);
        if (farewell) this.#heardAt = clock.monotonic();
        else metrics.informerFailed(plural, isKubeError(error) ? error.reason : 'unreadable');
        // A server that restarts or sheds load is nobody's to act on; one that stays away is.
        // Once aloud: a name that is misspelt in the configuration looks the same.
        if (farewell) log[isAway ? 'debug' : 'warn'](told, 'the namespace is being deleted, or there is none');
        else if (failures < 5) log.info(told, 'a list or watch ended, will retry');
        else log.warn(told, 'a list or watch failed again, will retry');
        isAway = farewell;
        await clock.sleep(backOffMs(failures, BACK_OFF, random, error), signal);
      }
    }
  }

  /** A namespace that is deleted loses its Roles, perhaps before its resources: to be refused there is no trouble. */
  async #isFarewell(cause: unknown, signal: AbortSignal): Promise<boolean> {
    if (!isKubeError(cause, 'refused') || cause.status !== 403) return false;
    return await this.#deps.api.isLeaving(this.#options.namespace, signal).catch(() => false);
  }

  async #listWhenDue(signal: AbortSignal): Promise<void> {
    const { api, clock, metrics, random } = this.#deps;
    const { type, namespace, labelSelector } = this.#options;
    if (this.#resourceVersion !== undefined && clock.monotonic() < this.#relistAt) return;
    const found = new Map<string, KubeObject>();
    let next: string | undefined;
    let resourceVersion: string;
    do {
      const request = { limit: PAGE_OBJECTS, next, ...(labelSelector !== undefined && { labelSelector }) };
      const page = await api.list(type, namespace, request, signal);
      for (const object of page.items) found.set(object.metadata.name, object);
      ({ next, resourceVersion } = page);
      this.#hears();
    } while (next !== undefined);
    metrics.informerListed(type.plural);
    for (const [name, known] of this.#objects) if (!found.has(name)) this.#drop(known);
    for (const object of found.values()) this.#take(object);
    this.#resourceVersion = resourceVersion;
    this.#relistAt = clock.monotonic() + RELIST_MS * (0.9 + 0.2 * random());
    this.#synced = true;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { api, clock, random } = this.#deps;
    const { type, namespace, labelSelector } = this.#options;
    const openedAt = clock.monotonic();
    const left = Math.max(1, Math.ceil((this.#relistAt - openedAt) / 1000));
    const request = {
      resourceVersion: this.#resourceVersion ?? '',
      timeoutSeconds: Math.min(left, Math.ceil(WATCH_SECONDS_MAX * (0.8 + 0.2 * random()))),
      ...(labelSelector !== undefined && { labelSelector }),
    };
    const said = this.#said;
    for await (const event of api.watch(type, namespace, request, signal)) {
      if (event.type === 'OPENED') {
        this.#heardAt = clock.monotonic();
        continue;
      }
      this.#hears();
      if (event.type === 'BOOKMARK') this.#resourceVersion = event.resourceVersion;
      else {
        this.#resourceVersion = event.object.metadata.resourceVersion;
        if (event.type === 'DELETED') this.#drop(event.object);
        else this.#take(event.object);
      }
    }
    const lasted = clock.monotonic() - openedAt;
    if (this.#said === said && lasted < WATCH_MS_MIN && !signal.aborted) throw new Error('the watch ended as it began');
    this.#heardAt = clock.monotonic();
  }

  #hears(): void {
    this.#heardAt = this.#deps.clock.monotonic();
    this.#said += 1;
  }

  #take(object: KubeObject, own = false): void {
    const { name, resourceVersion } = object.metadata;
    const before = this.#objects.get(name);
    if (before?.metadata.resourceVersion === resourceVersion) return;
    const kept = this.#options.keep ? this.#options.keep(object) : object;
    if (!kept) return this.#drop(object);
    this.#objects.set(name, kept);
    this.#tell({ now: kept, before, own });
  }

  #drop({ metadata: { name } }: KubeObject): void {
    const before = this.#objects.get(name);
    if (!before) return;
    this.#objects.delete(name);
    this.#tell({ now: undefined, before, own: false });
  }

  #tell(change: Change): void {
    try {
      this.#options.onChange(change);
    } catch (error) {
      this.#deps.log.error({ err: error, resource: this.#options.type.plural }, 'a change could not be handled');
    }
  }
}
