import { StoreUnavailable, type Change, type CommitResult, type Store } from '../../store/port.ts';
import { newerFormat, newerInWords } from './format.ts';

/**
 * The same store for a replica that commits: a newer Muster migrates the records once no older replica is on the
 * registry, so one that is not there, or that has come back, looks at the format before its next commit (ADR 0023).
 * Its commits throw StoreUnavailable where the format is newer than this program knows.
 * @param registration as `Replicas.registration`
 */
export function fencedByFormat(store: Store, registration: () => object | undefined): Store {
  /** The stay in which the format was looked at. */
  let looked: object | undefined;

  const commit: Store['commit'] = (change) => {
    const current = registration();
    return current !== undefined && current === looked ? store.commit(change) : commitAfterLook(change, current);
  };
  async function commitAfterLook(change: Change, current: object | undefined): Promise<CommitResult> {
    const newer = await newerFormat(store);
    if (newer !== undefined) throw new StoreUnavailable('failed', newerInWords(newer));
    looked = current;
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
