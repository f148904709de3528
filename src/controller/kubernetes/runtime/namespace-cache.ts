import { HEADER_SELECTOR } from '../client/header-secret.ts';
import type { KubeObject } from '../client/kube-api.ts';
import type { KindName } from '../schema/common.ts';
import { KIND_SCHEMAS } from '../schema/crd.ts';
import { Informer, type Change, type InformerDeps } from './informer.ts';
import type { KindInformers } from './kind-informers.ts';
import { hasFinalizer, workKey } from './resource.ts';
import { OWNED_SELECTOR, ownersOf, SECRETS, withoutValues } from './secrets.ts';

/*
 * The objects of one namespace in memory, and the resources that are to be reconciled when one of them changes. No
 * object refers to another namespace.
 */

interface NamespaceCacheOptions {
  readonly namespace: string;
  /** The custom resources, of this namespace or of all. */
  readonly kinds: KindInformers;
  /** Has the resource of this key reconciled. */
  readonly add: (key: string) => void;
  /** Called when the server begins to refuse the Secrets, and when it stops. */
  readonly onRefused: () => void;
}

/** The kinds that belong to an account. */
export const DEPENDANTS = ['FleetApiKey', 'FleetApp', 'FleetOtelConfig'] as const satisfies readonly KindName[];

/**
 * Holds the custom resources of one namespace, and the metadata of its Secrets that Muster owns or may read. The
 * Secrets are followed from the first resource on that needs them: a namespace in which nothing is asks for no watch.
 */
export class NamespaceCache {
  readonly namespace: string;
  readonly owned: Informer;
  readonly headers: Informer;
  readonly #kinds: KindInformers;
  readonly #add: (key: string) => void;
  /** The Secrets' informers that run, with the end of each. */
  readonly #running = new Map<Informer, Promise<void>>();
  /** Ends the informers of Secrets; undefined while none may run. */
  #signal: AbortSignal | undefined;

  constructor(deps: InformerDeps, { namespace, kinds, add, onRefused }: NamespaceCacheOptions) {
    this.namespace = namespace;
    this.#add = add;
    this.#kinds = kinds;
    this.owned = new Informer(deps, {
      type: SECRETS,
      namespace,
      labelSelector: OWNED_SELECTOR,
      keep: withoutValues,
      onChange: (change) => this.#ownedChanged(change),
      onRefused,
    });
    this.headers = new Informer(deps, {
      type: SECRETS,
      namespace,
      labelSelector: HEADER_SELECTOR,
      keep: ({ metadata }) => ({ metadata }),
      onChange: (change) => this.#headerChanged(change),
      onRefused,
    });
  }

  /** The informers of Secrets that run. */
  get informers(): readonly Informer[] {
    return [...this.#running.keys()];
  }

  /** Whether the resources, and the Secrets that they need, have been listed at least once. */
  get synced(): boolean {
    return this.kindsSynced && this.#running.has(this.owned) && this.informers.every((informer) => informer.synced);
  }

  /**
   * Whether the custom resources have been listed. That is enough to clean up behind one: it takes no Secret, and the
   * right to read Secrets may be gone by then.
   */
  get kindsSynced(): boolean {
    return this.#kinds.synced;
  }

  /** Whether the server refuses the Secrets for want of a right. */
  get refused(): boolean {
    return this.informers.some((informer) => informer.refused);
  }

  /** Follows the Secrets, from when they are needed until the signal aborts. */
  follow(signal: AbortSignal): void {
    this.#signal = signal;
    this.#followNeeded();
  }

  /** Resolves when no informer of Secrets runs any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  informer(kind: string): Informer | undefined {
    return this.#kinds.informer(kind);
  }

  find(kind: KindName, name: string): KubeObject | undefined {
    return this.#kinds.find(kind, this.namespace, name);
  }

  all(kind: KindName): Iterable<KubeObject> {
    return this.#kinds.all(kind, this.namespace);
  }

  /** Has every resource of the namespace reconciled. */
  addAll(): void {
    for (const { kind } of KIND_SCHEMAS) {
      for (const object of this.all(kind)) this.#enqueue(kind, object.metadata.name);
    }
  }

  #followNeeded(): void {
    const has = (kind: KindName): boolean => !this.all(kind)[Symbol.iterator]().next().done;
    if (KIND_SCHEMAS.some(({ kind }) => has(kind))) this.#start(this.owned);
    if (has('FleetOtelConfig')) this.#start(this.headers);
  }

  #start(informer: Informer): void {
    if (!this.#signal || this.#signal.aborted || this.#running.has(informer)) return;
    this.#running.set(informer, informer.run(this.#signal));
  }

  #enqueue(kind: KindName, name: string): void {
    this.#add(workKey(kind, this.namespace, name));
  }

  /** Takes a change of a custom resource of this namespace. */
  resourceChanged(kind: KindName, { now, before, own }: Change): void {
    const object = now ?? before;
    if (!object) return;
    this.#followNeeded();
    if (!own) this.#enqueue(kind, object.metadata.name);
    // The deletion of an account waits for the resources that use it.
    const freed = before && isInUse(before) && !(now && isInUse(now)) ? accountNameOf(before) : undefined;
    if (freed !== undefined) this.#enqueue('FleetAccount', freed);
    if (summary(now) === summary(before)) return;
    if (kind === 'FleetAccount') {
      for (const dependant of DEPENDANTS) this.#enqueueOf(dependant, object.metadata.name);
    }
    // The oldest of several configurations of one account is in force: when it goes, another one takes its place.
    if (kind === 'FleetOtelConfig') this.#enqueueOf(kind, accountNameOf(object), object.metadata.name);
  }

  #enqueueOf(kind: KindName, accountName: string | undefined, but?: string): void {
    for (const object of this.all(kind)) {
      const { name } = object.metadata;
      if (accountNameOf(object) === accountName && name !== but) this.#enqueue(kind, name);
    }
  }

  #ownedChanged({ now, before, own }: Change): void {
    if (own) return;
    // One whose owner was taken away is in the way of that owner from now on.
    const owners = [now, before].flatMap((object) => (object ? ownersOf(object) : []));
    for (const { kind, name } of owners) {
      if (this.#kinds.informer(kind)) this.#enqueue(kind as KindName, name);
    }
  }

  #headerChanged({ now, before }: Change): void {
    const name = (now ?? before)?.metadata.name;
    for (const object of this.all('FleetOtelConfig')) {
      if (field(field(object['spec'], 'authHeaderSecretRef'), 'name') === name) {
        this.#enqueue('FleetOtelConfig', object.metadata.name);
      }
    }
  }
}

/** Whether an object still stands for something in Muster: its clean-up ends with the finalizer. */
export const isInUse = (object: KubeObject): boolean =>
  object.metadata.deletionTimestamp === undefined || hasFinalizer(object);

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;

/** The name in `spec.accountRef`; undefined where the object has none. */
export function accountNameOf(object: KubeObject): string | undefined {
  const name = field(field(object['spec'], 'accountRef'), 'name');
  return typeof name === 'string' ? name : undefined;
}

/** The parts of a resource that other resources depend on; the counts and instants of its status are not among them. */
function summary(object: KubeObject | undefined): string {
  if (!object) return '';
  const { uid, generation, deletionTimestamp = '' } = object.metadata;
  const accountId = String(field(object['status'], 'accountId'));
  return `${uid} ${generation} ${deletionTimestamp} ${accountId} ${readyOf(object)}`;
}

/** The status of the condition Ready; `Unknown` where there is none. */
export function readyOf(object: KubeObject): 'True' | 'False' | 'Unknown' {
  const conditions = field(object['status'], 'conditions');
  if (!Array.isArray(conditions)) return 'Unknown';
  const status = field(
    conditions.find((condition: unknown) => field(condition, 'type') === 'Ready'),
    'status',
  );
  return status === 'True' || status === 'False' ? status : 'Unknown';
}
