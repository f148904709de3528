import type { KubeObject } from '../client/kube-api.ts';
import type { KindName } from '../schema/common.ts';
import { KIND_SCHEMAS } from '../schema/crd.ts';
import { Informer, type Change, type InformerDeps } from './informer.ts';
import { resourceTypeOf, workKey } from './resource.ts';
import { HEADER_SELECTOR, OWNED_SELECTOR, ownersOf, SECRETS, withoutValues } from './secrets.ts';

/*
 * The objects of one namespace in memory, and the resources that are to be reconciled when one of them changes. No
 * object refers to another namespace.
 */

export interface NamespaceCacheOptions {
  readonly namespace: string;
  /** Has the resource of this key reconciled. */
  readonly add: (key: string) => void;
}

/** The kinds that belong to an account. */
const DEPENDANTS = ['FleetApiKey', 'FleetApp', 'FleetOtelConfig'] as const satisfies readonly KindName[];

/** Holds the custom resources of one namespace, and the metadata of its Secrets that Muster owns or may read. */
export class NamespaceCache {
  readonly namespace: string;
  readonly owned: Informer;
  readonly #headers: Informer;
  readonly #kinds: ReadonlyMap<KindName, Informer>;
  readonly #add: (key: string) => void;

  constructor(deps: InformerDeps, { namespace, add }: NamespaceCacheOptions) {
    this.namespace = namespace;
    this.#add = add;
    this.#kinds = new Map(
      KIND_SCHEMAS.map((schema) => [
        schema.kind,
        new Informer(deps, {
          type: resourceTypeOf(schema),
          namespace,
          onChange: (change) => this.#resourceChanged(schema.kind, change),
        }),
      ]),
    );
    this.owned = new Informer(deps, {
      type: SECRETS,
      namespace,
      labelSelector: OWNED_SELECTOR,
      keep: withoutValues,
      onChange: (change) => this.#ownedChanged(change),
    });
    this.#headers = new Informer(deps, {
      type: SECRETS,
      namespace,
      labelSelector: HEADER_SELECTOR,
      keep: ({ metadata }) => ({ metadata }),
      onChange: (change) => this.#headerChanged(change),
    });
  }

  get informers(): readonly Informer[] {
    return [...this.#kinds.values(), this.owned, this.#headers];
  }

  /** Whether every type has been listed at least once. */
  get synced(): boolean {
    return this.informers.every((informer) => informer.synced);
  }

  /**
   * Whether the custom resources have been listed. That is enough to clean up behind one: it takes no Secret, and the
   * right to read Secrets may be gone by then.
   */
  get kindsSynced(): boolean {
    return [...this.#kinds.values()].every((informer) => informer.synced);
  }

  informer(kind: string): Informer | undefined {
    return this.#kinds.get(kind as KindName);
  }

  find(kind: KindName, name: string): KubeObject | undefined {
    return this.#kinds.get(kind)?.get(name);
  }

  all(kind: KindName): Iterable<KubeObject> {
    return this.#kinds.get(kind)?.objects() ?? [];
  }

  #enqueue(kind: KindName, name: string): void {
    this.#add(workKey(kind, this.namespace, name));
  }

  #resourceChanged(kind: KindName, { now, before, own }: Change): void {
    const object = now ?? before;
    if (!object) return;
    if (!own) this.#enqueue(kind, object.metadata.name);
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
    const object = now ?? before;
    if (!object || own) return;
    for (const { kind, name } of ownersOf(object)) {
      if (this.#kinds.has(kind as KindName)) this.#enqueue(kind as KindName, name);
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
