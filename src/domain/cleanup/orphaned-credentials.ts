import type { Store } from '../../store/port.ts';
import { removePastCredentials } from '../apps/past-credentials.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { Sweep, SweepDeps } from './sweep.ts';

const LISTED_PER_PIECE_MAX = 500;

/** Removes hashes of credentials whose app was deleted, where the request that deleted it could not remove them all. */
export function pastCredentialsSweep({ store, fence }: SweepDeps, memory: FleetMemory): Sweep {
  /** Hashes that lead to an unreadable record stay, and do not keep the others from being removed. */
  async function removeOf(appId: string, hashes: readonly string[]): Promise<number> {
    try {
      return (await exists(store, appId, hashes)) ? 0 : await removePastCredentials(store, appId, fence);
    } catch (error) {
      if (error instanceof BadRecord) return 0;
      throw error;
    }
  }
  return {
    what: 'past_credentials',
    async piece(from, signal) {
      const page = await store.list({
        prefix: KEYS.pastCredential.under(),
        limit: LISTED_PER_PIECE_MAX,
        keysOnly: true,
        after: from,
      });
      let gone = 0;
      for (const [appId, hashes] of byApp(page.entries.map(({ key }) => key))) {
        if (signal.aborted) break;
        if (!memory.appById(appId)) gone += await removeOf(appId, hashes);
      }
      return { gone, next: page.next };
    },
  };
}

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
