import { StoreUnavailable, type Store } from '../../store/port.ts';
import { refuseWithoutRoom, writeClassOfChange } from '../fullness/write-class.ts';
import { kindOf } from '../records/keys.ts';
import { newerFormat, newerInWords } from './format.ts';

/**
 * The writes of a replica.
 *
 * A commit is refused from the fullness of its class on, and one with a record of no declared kind always.
 *
 * A newer Muster rewrites the records once no older replica is on the registry, so a replica that is not there, or has
 * come back, reads the format before its next commit (ADR 0023), and commits nothing where it is newer than this
 * program knows.
 * @param store that counts and times its calls: what is refused here never reached it, and is no outage of it
 * @param registration as `Replicas.registration`
 */
export function guardedWrites(
  store: Pick<Store, 'get' | 'commit' | 'hold' | 'fullness'>,
  registration: () => object | undefined,
): Pick<Store, 'commit' | 'hold'> {
  /** The registration during which the format was read. */
  let checked: object | undefined;

  async function readFormat(current: object | undefined): Promise<void> {
    const newer = await newerFormat(store);
    if (newer !== undefined) throw new StoreUnavailable('failed', newerInWords(newer));
    checked = current;
  }

  return {
    async commit(change) {
      const writeClass = writeClassOfChange(change);
      refuseWithoutRoom(store, writeClass);
      const current = registration();
      if (current === undefined || current !== checked) await readFormat(current);
      return await store.commit(change.writeClass === writeClass ? change : { ...change, writeClass });
    },
    async hold(key, value, ttlMs) {
      kindOf(key);
      return await store.hold(key, value, ttlMs);
    },
  };
}
