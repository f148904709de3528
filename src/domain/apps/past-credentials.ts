import type { Expectation, Store } from '../../store/port.ts';
import { LIMITS } from '../limits.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { credentialSchema } from '../records/records.ts';

/** Of one removal, one after the other: whoever binds a hash meanwhile is met once. */
const CONFLICTS_MAX = 5;

/**
 * The hashes of a deleted app's earlier credentials, where they are too many for one commit. Another app may bind one of
 * them in the meantime: then it is that app's, and stays.
 * @param fence what each commit expects besides
 * @returns how many went; what a conflict left is there the next time
 * @throws StoreUnavailable
 */
export async function removePastCredentials(
  store: Store,
  appId: string,
  fence: readonly Expectation[] = [],
): Promise<number> {
  const prefix = KEYS.pastCredentials(appId);
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
      .filter((entry) => parseRecord(credentialSchema, entry).record.appId === appId);
    const { outcome } = await store.commit({
      expect: [
        { key: first.key, revision: first.revision },
        ...own.map(({ key, revision }) => ({ key, revision })),
        ...fence,
      ],
      write: [...page.entries, ...own].map(({ key }) => ({ remove: key })),
    });
    if (outcome === 'committed') gone += page.entries.length;
    else conflicts += 1;
  }
  return gone;
}
