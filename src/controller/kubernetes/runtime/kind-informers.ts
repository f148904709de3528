import type { KubeObject } from '../client/kube-api.ts';
import type { KindName } from '../schema/common.ts';
import { KIND_SCHEMAS } from '../schema/crd.ts';
import { Informer, type Change, type InformerDeps } from './informer.ts';
import { resourceTypeOf } from './resource.ts';

interface KindInformersOptions {
  /** Undefined: the resources of the whole cluster, by one watch for each kind. */
  readonly namespace: string | undefined;
  readonly onChange: (kind: KindName, change: Change) => void;
  readonly onListed?: () => void;
}

/** The custom resources of one namespace, or of all, in memory. */
export class KindInformers {
  readonly informers: readonly Informer[];
  readonly #kinds: ReadonlyMap<KindName, Informer>;

  constructor(deps: InformerDeps, { namespace, onChange, onListed }: KindInformersOptions) {
    this.#kinds = new Map(
      KIND_SCHEMAS.map((schema) => [
        schema.kind,
        new Informer(deps, {
          type: resourceTypeOf(schema),
          namespace,
          onChange: (change) => onChange(schema.kind, change),
          ...(onListed && { onListed }),
        }),
      ]),
    );
    this.informers = [...this.#kinds.values()];
  }

  /** Whether the custom resources have been listed. */
  get synced(): boolean {
    return this.informers.every((informer) => informer.synced);
  }

  informer(kind: string): Informer | undefined {
    return this.#kinds.get(kind as KindName);
  }

  find(kind: KindName, namespace: string, name: string): KubeObject | undefined {
    return this.#kinds.get(kind)?.get(name, namespace);
  }

  all(kind: KindName, namespace: string): Iterable<KubeObject> {
    return this.#kinds.get(kind)?.objects(namespace) ?? [];
  }
}
