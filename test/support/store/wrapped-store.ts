import type { Store } from '../../../src/store/port.ts';

/** The same store, but for the methods given. */
export const wrappedStore = (store: Store, changed: Partial<Store>): Store => ({
  backend: store.backend,
  get: (key) => store.get(key),
  list: (request) => store.list(request),
  listAt: (request, revision) => store.listAt(request, revision),
  commit: (change) => store.commit(change),
  head: () => store.head(),
  headAt: (revision) => store.headAt(revision),
  watch: (prefix, from, listener) => store.watch(prefix, from, listener),
  compact: (revision) => store.compact(revision),
  retain: (revision) => store.retain(revision),
  hold: (key, value, ttlMs) => store.hold(key, value, ttlMs),
  fullness: () => store.fullness(),
  [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  ...changed,
});

/** The same store; every value that a commit puts is noted, as it will lie at rest. */
export const recordingStore = (store: Store, written: string[]): Store =>
  wrappedStore(store, {
    commit: (change) => {
      for (const write of change.write) if ('put' in write) written.push(write.value);
      return store.commit(change);
    },
  });
