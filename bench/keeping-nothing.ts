import { recordRefOf } from '../src/domain/fleet/record-ref.ts';
import {
  ABSENT,
  HEAD_KEY,
  type Change,
  type Store,
  type WatchedChange,
  type WatchListener,
} from '../src/store/port.ts';
import { wrappedStore } from '../test/support/store/wrapped-store.ts';

/** Above what the store that is wrapped comes to in a benchmark. */
const REVISIONS_AHEAD = 1_000_000_000;
const EPOCH_ID = '0'.repeat(16);

/**
 * A store that keeps nothing of the creates: it tells the watches of them, and answers. Whatever else the service
 * writes goes to the store that is wrapped. What a create costs beside it is what the rest of the service costs, but for
 * the sealing of its audit entries (ADR 0011), which finds none: it is a part of what a real store costs.
 */
export function keepingNothing(store: Store): Store {
  const listeners = new Map<WatchListener, string>();
  let revision: number | undefined;

  const pass = ({ write }: Change, at: number): void => {
    const changes = write.map((one): WatchedChange => {
      if (!('put' in one)) throw new Error('a create removes nothing');
      return { key: one.put, revision: at, value: one.value };
    });
    changes.push({ key: HEAD_KEY, revision: at, value: EPOCH_ID });
    for (const [listener, prefix] of listeners) {
      const seen = changes.filter(({ key }) => key.startsWith(prefix));
      if (seen.length > 0) listener.onBatch({ revision: at, changes: seen });
    }
  };
  const headNow = store.headNow?.bind(store);
  if (!headNow) throw new Error('only the embedded store knows its head at once');
  return wrappedStore(store, {
    commit: async (change) => {
      // It must not move `head`: memory follows the invented `head` of the creates, and a real one would look like the
      // history of another store.
      if (!isCreate(change)) return store.commit({ ...change, quiet: true });
      revision = (revision ?? headNow().revision + REVISIONS_AHEAD) + 1;
      pass(change, revision);
      return { outcome: 'committed', revision };
    },
    headNow: () => (revision === undefined ? headNow() : { revision, epochId: EPOCH_ID }),
    head: async () => (revision === undefined ? store.head() : { revision, epochId: EPOCH_ID }),
    watch: (prefix, from, listener) => {
      listeners.set(listener, prefix);
      const watch = store.watch(prefix, from, listener);
      return {
        close: () => {
          listeners.delete(listener);
          watch.close();
        },
      };
    },
  });
}

const isCreate = ({ expect }: Change): boolean =>
  expect.some(({ key, revision }) => revision === ABSENT && recordRefOf(key)?.kind === 'app');
