import type { Fleet } from '../fleet/fleet.ts';
import type { FoundKey } from '../fleet/reader.ts';
import { Refusal } from '../refusal.ts';
import { isOwner, livingOf } from './made-keys.ts';

/** A living key, without its text. Times are milliseconds since 1970. */
export interface MadeKey {
  readonly accountId: string;
  readonly accountName: string;
  readonly keyId: string;
  readonly name: string;
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly createdBy: string | undefined;
  readonly lastUsedAt: number | undefined;
}

/** What the dialogs and commands show before somebody goes. */
export interface MadeKeyList {
  readonly apiKeys: readonly MadeKey[];
  /**
   * Living keys of the accounts that the user owns of which nobody knows who made them: somebody with an operator's token, a
   * custom resource, or an earlier version.
   */
  readonly ofNobodyKnown: readonly MadeKey[];
  /** Whether one of the lists was cut. */
  readonly more: boolean;
}

/**
 * Lists the living keys that a user made, the oldest first.
 * @param accountId of one account alone
 * @throws Refusal `not_found`; StoreUnavailable; BadRecord
 */
export type ListMadeKeys = (userId: string, accountId?: string) => Promise<MadeKeyList>;

export interface MadeKeyListDeps {
  readonly fleet: Fleet;
  /** When the keys of an account were last used, by id. */
  readonly lastUses: (accountId: string) => Promise<ReadonlyMap<string, number>>;
}

/** Keys in each of both lists: their accounts are read for the last uses. */
export const MADE_KEYS_LISTED_MAX = 200;

/** Creates the list; see `ListMadeKeys`. */
export function createMadeKeyList({ fleet, lastUses }: MadeKeyListDeps): ListMadeKeys {
  return async (userId, accountId) => {
    const memory = await fleet.whole();
    const user = memory.user(userId);
    if (!user || (accountId !== undefined && !memory.account(accountId))) throw new Refusal('not_found');
    const made: FoundKey[] = [];
    const unknown: FoundKey[] = [];
    for (const account of memory.accounts()) {
      if (accountId !== undefined && account.id !== accountId) continue;
      const keys = account.apiKeys().map((key) => ({ account, key }));
      made.push(...keys.filter(({ key }) => key.record.createdBy === `user:${userId}`));
      const isConcerned = accountId !== undefined || (await isOwner(memory, user, account));
      if (isConcerned) unknown.push(...keys.filter(({ key }) => key.record.createdBy?.startsWith('user:') !== true));
    }
    const [apiKeys, ofNobodyKnown] = [made, unknown].map((keys) => byAge(livingOf(memory, keys)));
    return {
      apiKeys: await listed(apiKeys ?? [], lastUses),
      ofNobodyKnown: await listed(ofNobodyKnown ?? [], lastUses),
      more: [apiKeys, ofNobodyKnown].some((keys) => (keys?.length ?? 0) > MADE_KEYS_LISTED_MAX),
    };
  };
}

const byAge = (keys: readonly FoundKey[]): readonly FoundKey[] =>
  keys.toSorted(({ key: a }, { key: b }) => a.record.createdAt - b.record.createdAt || (a.id < b.id ? -1 : 1));

async function listed(keys: readonly FoundKey[], lastUses: MadeKeyListDeps['lastUses']): Promise<readonly MadeKey[]> {
  const shown = keys.slice(0, MADE_KEYS_LISTED_MAX);
  const accountIds = [...new Set(shown.map(({ account }) => account.id))];
  const uses = new Map(await Promise.all(accountIds.map(async (id) => [id, await lastUses(id)] as const)));
  return shown.map(({ account, key: { id, record } }) => ({
    accountId: account.id,
    accountName: account.record.name,
    keyId: id,
    name: record.name,
    createdAt: record.createdAt,
    expiresAt: record.expiring?.expiresAt,
    createdBy: record.createdBy,
    lastUsedAt: uses.get(account.id)?.get(id),
  }));
}
