import { expectUnchanged, type Expectation, type Store } from '../../store/port.ts';
import { LIMITS } from '../limits.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

/** Conflicts after which a removal gives up: each is with another app that bound one of the hashes meanwhile. */
const CONFLICTS_MAX = 5;

/**
 * Removes the hashes of a deleted app's earlier credentials, where they were too many for one commit. A hash that
 * another app has bound in the meantime belongs to that app, and stays.
 * @param fence further expectations of each commit
 * @returns how many were removed; those that a conflict left are found the next time
 * @throws StoreUnavailable
 */
export async function removePastCredentials(
  store: Store,
  appId: string,
  fence: readonly Expectation[] = [],
): Promise<number> {
  const prefix = KEYS.pastCredential.under(appId);
  let [gone, conflicts] = [0, 0];
  while (conflicts < CONFLICTS_MAX) {
    const page = await store.list({ prefix, limit: LIMITS.pastCredentialsPerCommitMax / 2, keysOnly: true });
    const [first] = page.entries;
    if (!first) break;
    const locators = await Promise.all(
      page.entries.map(({ key }) => store.get(KEYS.credential(key.slice(prefix.length)))),
    );
    const own = locators
      .filter((entry) => entry !== undefined)
      .filter((entry) => parseRecord(KEYS.credential, entry).record.appId === appId);
    const { outcome } = await store.commit({
      expect: [expectUnchanged(first), ...own.map(expectUnchanged), ...fence],
      write: [...page.entries, ...own].map(({ key }) => ({ remove: key })),
    });
    if (outcome === 'committed') gone += page.entries.length;
    else conflicts += 1;
  }
  return gone;
}
