import { StoreUnavailable, type Change, type CommitResult, type Store } from '../../store/port.ts';
import { newerFormat, newerInWords } from './format.ts';

/**
 * The commits of a replica. A newer Muster rewrites the records once no older replica is on the registry, so a replica
 * that is not there, or has come back, reads the format before its next commit (ADR 0023). A commit throws
 * StoreUnavailable where the format is newer than this program knows.
 * @param registration as `Replicas.registration`
 */
export function fencedByFormat(
  store: Pick<Store, 'get' | 'commit'>,
  registration: () => object | undefined,
): Store['commit'] {
  /** The registration during which the format was read. */
  let checked: object | undefined;

  async function commitAfterCheck(change: Change, current: object | undefined): Promise<CommitResult> {
    const newer = await newerFormat(store);
    if (newer !== undefined) throw new StoreUnavailable('failed', newerInWords(newer));
    checked = current;
    return await store.commit(change);
  }

  return (change) => {
    const current = registration();
    return current !== undefined && current === checked ? store.commit(change) : commitAfterCheck(change, current);
  };
}
