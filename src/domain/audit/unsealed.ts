import type { Store } from '../../store/port.ts';
import { KEYS } from '../records/keys.ts';
import type { Since } from './following/news.ts';
import { headsOf } from './heads.ts';

/**
 * Up to which revision the entries of each account are in blocks: what is after it is to be sealed. An unreadable head
 * seals nothing: sealing its account then reports that the chain is broken.
 */
export const sealedIn =
  (store: Store): Since =>
  async () => {
    const through = new Map<string, number>();
    for await (const [accountId, chain] of headsOf(store, KEYS.chain)) through.set(accountId, chain.through);
    return (accountId) => through.get(accountId) ?? 0;
  };
