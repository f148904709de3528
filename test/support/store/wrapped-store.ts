import type { Store } from '../../../src/store/port.ts';

/** The same store, but for the methods given. With another `head` it has no `headNow`, but for one that is given. */
export function wrappedStore(store: Store, changed: Partial<Store>): Store {
  const headNow = changed.head === undefined ? store.headNow?.bind(store) : undefined;
  return {
    backend: store.backend,
    get: (key) => store.get(key),
    list: (request) => store.list(request),
    listAt: (request, revision) => store.listAt(request, revision),
    commit: (change) => store.commit(change),
    head: () => store.head(),
    ...(headNow && { headNow }),
    headAt: (revision) => store.headAt(revision),
    watch: (prefix, from, listener) => store.watch(prefix, from, listener),
    compact: (revision) => store.compact(revision),
    retain: (revision) => store.retain(revision),
    hold: (key, value, ttlMs) => store.hold(key, value, ttlMs),
    fullness: () => store.fullness(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    ...changed,
  };
}
