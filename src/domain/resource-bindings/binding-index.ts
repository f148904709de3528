import type { BindingRecord } from '../records/binding-records.ts';
import type { Binding, BindingOf } from './bindings.ts';

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
  readonly #list: () => AsyncIterable<BindingOf>;
  #listed: Promise<void> | undefined;

  /** @param list reads all bindings: once, when the first is asked for */
  constructor(list: () => AsyncIterable<BindingOf>) {
    this.#list = list;
  }

  note(uid: string, place: Place): void {
    const key = keyOf(place);
    const known = this.#uids.get(key);
    if (known) known.add(uid);
    else this.#uids.set(key, new Set([uid]));
  }

  /**
   * The bindings of this place but that of the UID.
   * @throws as `get` and the list
   */
  async others(
    uid: string,
    place: Place,
    get: (uid: string) => Promise<Binding | undefined>,
  ): Promise<readonly BindingOf[]> {
    await this.#all();
    const known = this.#uids.get(keyOf(place)) ?? new Set<string>();
    const found: BindingOf[] = [];
    for (const other of known) {
      if (other === uid) continue;
      const binding = await get(other);
      if (binding) found.push({ uid: other, ...binding });
      else known.delete(other);
    }
    return found;
  }

  /** After a listing that failed the next call lists anew. */
  async #all(): Promise<void> {
    this.#listed ??= this.#fill();
    try {
      await this.#listed;
    } catch (error) {
      this.#listed = undefined;
      throw error;
    }
  }

  async #fill(): Promise<void> {
    for await (const { uid, record } of this.#list()) this.note(uid, record);
  }
}
