import type { BindingRecord } from '../records/binding-records.ts';

/** A custom resource by its names: two resources of one cluster never have the same at once. */
export type Place = Pick<BindingRecord, 'kind' | 'namespace' | 'name'>;

const keyOf = ({ kind, namespace, name }: Place): string => `${kind}/${namespace}/${name}`;

/**
 * The UIDs of bindings by the names of their resources, in the leader's memory. It may know a UID without a binding, as
 * of a commit that failed, so each is looked up in the store: it must only never lack one. Only the leader writes
 * bindings, and notes each before it is written.
 */
export class BindingIndex {
  readonly #uids = new Map<string, Set<string>>();
  readonly #list: () => AsyncIterable<{ readonly uid: string; readonly record: Place }>;
  #listed: Promise<void> | undefined;

  /** @param list reads all bindings: once, when the first is asked for */
  constructor(list: () => AsyncIterable<{ readonly uid: string; readonly record: Place }>) {
    this.#list = list;
  }

  note(uid: string, place: Place): void {
    const key = keyOf(place);
    const known = this.#uids.get(key);
    if (known) known.add(uid);
    else this.#uids.set(key, new Set([uid]));
  }

  /** The store has no binding of this UID. */
  drop(uid: string, place: Place): void {
    this.#uids.get(keyOf(place))?.delete(uid);
  }

  /** The UIDs that may have a binding of this place. @throws as the list */
  async at(place: Place): Promise<readonly string[]> {
    this.#listed ??= this.#fill();
    try {
      await this.#listed;
    } catch (error) {
      // The next call lists anew.
      this.#listed = undefined;
      throw error;
    }
    return [...(this.#uids.get(keyOf(place)) ?? [])];
  }

  async #fill(): Promise<void> {
    for await (const { uid, record } of this.#list()) this.note(uid, record);
  }
}
