import { StoreUnavailable, type Change, type CommitResult, type Store } from '../../store/port.ts';
import { newerFormat, newerInWords } from './format.ts';

/**
 * Wraps the store for a replica that commits. A newer Muster migrates the records once no older replica is on the
 * registry, so a replica that is not there, or has come back, reads the format before its next commit (ADR 0023). A
 * commit throws StoreUnavailable where the format is newer than this program knows.
 * @param registration as `Replicas.registration`
 */
export function fencedByFormat(store: Store, registration: () => object | undefined): Store {
  /** The registration during which the format was read. */
  let checked: object | undefined;

  const commit: Store['commit'] = (change) => {
    const current = registration();
    return current !== undefined && current === checked ? store.commit(change) : commitAfterCheck(change, current);
  };
  async function commitAfterCheck(change: Change, current: object | undefined): Promise<CommitResult> {
    const newer = await newerFormat(store);
    if (newer !== undefined) throw new StoreUnavailable('failed', newerInWords(newer));
    checked = current;
    return await store.commit(change);
  }

  const headNow = store.headNow?.bind(store);
  return {
    backend: store.backend,
    get: (key) => store.get(key),
    list: (request) => store.list(request),
    listAt: (request, revision) => store.listAt(request, revision),
    commit,
    head: () => store.head(),
    ...(headNow && { headNow }),
    headAt: (revision) => store.headAt(revision),
    watch: (prefix, from, listener) => store.watch(prefix, from, listener),
    compact: (revision) => store.compact(revision),
    retain: (revision) => store.retain(revision),
    hold: (key, value, ttlMs) => store.hold(key, value, ttlMs),
    fullness: () => store.fullness(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
