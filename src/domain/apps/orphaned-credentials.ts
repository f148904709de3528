import type { Store } from '../../store/port.ts';
import { unlessDamaged, type Sweep } from '../cleanup/sweep.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { removePastCredentials } from './past-credentials.ts';

const LISTED_PER_PIECE_MAX = 500;

/** Removes hashes of credentials whose app was deleted, where the request that deleted it could not remove them all. */
export const removeOrphanedCredentials: Sweep = async ({ store, memory, fence }, from, signal) => {
  const page = await store.list({
    prefix: KEYS.pastCredential.under(),
    limit: LISTED_PER_PIECE_MAX,
    keysOnly: true,
    after: from,
  });
  const removeOf = async (appId: string, hashes: readonly string[]): Promise<number> =>
    (await exists(store, appId, hashes)) ? 0 : await removePastCredentials(store, appId, fence);
  let gone = 0;
  for (const [appId, hashes] of byApp(page.entries.map(({ key }) => key))) {
    if (signal.aborted) break;
    // Hashes that lead to an unreadable record stay.
    if (!memory.appById(appId)) gone += (await unlessDamaged(removeOf(appId, hashes))) ?? 0;
  }
  return { gone, next: page.next };
};

function byApp(keys: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const hashes = new Map<string, string[]>();
  for (const key of keys) {
    const [appId = '', hash = ''] = key.slice(KEYS.pastCredential.under().length).split('/');
    hashes.set(appId, [...(hashes.get(appId) ?? []), hash]);
  }
  return hashes;
}

/**
 * Asks the store whether the app exists, as memory may be behind, or unable to read the app's account. A credential
 * names its app's account until it is removed with the app; an app that none of its hashes leads to is gone, and its id
 * is never used again.
 */
async function exists(store: Store, appId: string, hashes: readonly string[]): Promise<boolean> {
  for (const hash of hashes) {
    const entry = await store.get(KEYS.credential(hash));
    const bound = entry && parseRecord(KEYS.credential, entry).record;
    if (bound?.appId === appId) return (await store.get(KEYS.app(bound.accountId, appId))) !== undefined;
  }
  return false;
}
