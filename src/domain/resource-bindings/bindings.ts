import { pagesOf } from '../../store/pages.ts';
import { ABSENT, expectAsFound, type Expectation, type Store, type WriteClass } from '../../store/port.ts';
import type { Precondition } from '../mutation/authority.ts';
import { StaleRead } from '../mutation/stale-read.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';
import type { BindingRecord } from '../records/binding-records.ts';
import { KEYS } from '../records/keys.ts';
import { BindingIndex, type Place } from './binding-index.ts';

/*
 * A binding names the account, key or app that a custom resource of Kubernetes stands for, by the UID of the resource.
 * It is written in the commit that creates what it names, so that nothing is created twice or left without its binding.
 * Only the leader's operator writes bindings, and each of its commits is fenced. A secret that is yet to be written to
 * Kubernetes stands here by its hash: only a hash that Muster generated and noted is ever registered.
 */

/** A binding as it was read, with its revision. */
export type Binding = Versioned<BindingRecord>;

/** Reads and writes the bindings of custom resources. */
export interface Bindings {
  /** Reads the binding as it is now. @throws StoreUnavailable, BadRecord */
  get(uid: string): Promise<Binding | undefined>;
  /**
   * Makes the precondition of a commit after which the binding is `after`; undefined removes it.
   * @param before the binding as it was read; undefined where there was none
   */
  precondition(uid: string, before: Binding | undefined, after: BindingRecord | undefined): Precondition;
  /** As `precondition`, of a commit after which another resource has what the binding `former` names. */
  handover(former: BindingOf, uid: string, after: BindingRecord): Precondition;
  /**
   * The bindings that resources of other UIDs have of this kind, namespace and name.
   * @throws StoreUnavailable, BadRecord
   */
  formerOf(uid: string, place: Place): Promise<readonly BindingOf[]>;
  /** Writes the binding alone. @throws StaleRead, StoreUnavailable */
  save(uid: string, before: Binding | undefined, after: BindingRecord | undefined): Promise<void>;
  /**
   * As `save`, of a secret that goes to Kubernetes next and is registered after that, which grows the store: where that
   * would be refused for want of room, nothing is noted, so that no Secret holds what does not work.
   */
  noteSecret(uid: string, before: Binding | undefined, after: BindingRecord): Promise<void>;
  /** The bindings after a UID, in the order of the UIDs, page by page. @throws StoreUnavailable, BadRecord */
  all(after: string): AsyncIterable<BindingOf>;
}

/** A binding with the UID of its resource. */
export interface BindingOf extends Binding {
  readonly uid: string;
}

const PAGE = 500;

/**
 * Reads the bindings, in the order of the UIDs, page by page.
 * @param after begins after this UID
 * @throws StoreUnavailable, BadRecord
 */
export async function* allBindings(store: Pick<Store, 'list'>, after = ''): AsyncGenerator<BindingOf, void> {
  const request = { prefix: KEYS.binding.under(), limit: PAGE, ...(after !== '' && { after: KEYS.binding(after) }) };
  for await (const { entries } of pagesOf(store, request)) {
    for (const entry of entries) {
      yield { uid: entry.key.slice(KEYS.binding.under().length), ...parseRecord(KEYS.binding, entry) };
    }
  }
}

/**
 * Opens the bindings for one term: what it knows of them by name is right as long as nobody else writes any.
 * @param fence the expectations of every commit in the leader's term
 */
export function createBindings(store: Store, fence: readonly Expectation[]): Bindings {
  const index = new BindingIndex(() => allBindings(store));
  const get = async (uid: string): Promise<Binding | undefined> => {
    const entry = await store.get(KEYS.binding(uid));
    return entry && parseRecord(KEYS.binding, entry);
  };
  const precondition = (uid: string, before: Binding | undefined, after: BindingRecord | undefined): Precondition => {
    const key = KEYS.binding(uid);
    const expect = [expectAsFound(key, before), ...fence];
    if (after) index.note(uid, after);
    return { expect, write: [after ? put(key, after) : { remove: key }], recheck: recheckOf(store, expect) };
  };
  async function save(
    uid: string,
    before: Binding | undefined,
    after: BindingRecord | undefined,
    writeClass?: WriteClass,
  ): Promise<void> {
    const { expect, write } = precondition(uid, before, after);
    const [one, ...others] = expect;
    if (!one) throw new Error('a precondition without expectations');
    // No consistent read depends on a binding: the leader reads them from the store.
    const change = {
      expect: [one, ...others] as const,
      write,
      quiet: true as const,
      ...(writeClass && { writeClass }),
    };
    const { outcome } = await store.commit(change);
    if (outcome === 'conflict') throw new StaleRead(`The binding of ${uid} has changed, or another controller leads.`);
  }
  return {
    get,
    precondition,
    handover(former, uid, after) {
      const [from, to] = [KEYS.binding(former.uid), KEYS.binding(uid)];
      const expect = [expectAsFound(from, former), expectAsFound(to, undefined), ...fence];
      index.note(uid, after);
      return { expect, write: [{ remove: from }, put(to, after)], recheck: recheckOf(store, expect) };
    },
    async formerOf(uid, place) {
      const found: BindingOf[] = [];
      for (const former of await index.at(place)) {
        if (former === uid) continue;
        const binding = await get(former);
        if (binding) found.push({ uid: former, ...binding });
        else index.drop(former, place);
      }
      return found;
    },
    all: (after) => allBindings(store, after),
    save: (uid, before, after) => save(uid, before, after),
    noteSecret: (uid, before, after) => save(uid, before, after, 'growth'),
  };
}

function recheckOf(store: Pick<Store, 'get'>, expect: readonly Expectation[]): () => Promise<void> {
  let attempts = 0;
  return async () => {
    attempts += 1;
    if (attempts === 1) return;
    for (const { key, revision } of expect) {
      const entry = await store.get(key);
      if ((entry?.revision ?? ABSENT) !== revision) throw new StaleRead(`The key ${key} has changed.`);
    }
  };
}
