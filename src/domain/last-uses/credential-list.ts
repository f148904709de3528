import type { Fleet } from '../fleet/fleet.ts';
import { isExpiredKey, makersOf } from '../key-validity/key-expiry.ts';
import type { AllUses, LastUses } from './last-uses.ts';

/** The credentials that a user has. Times are milliseconds since 1970; undefined where nothing was used. */
export interface CredentialSummary {
  /** Living API keys that the user made. */
  readonly apiKeys: number;
  readonly apiKeysLastUsedAt: number | undefined;
  readonly sessions: number;
  readonly sessionsLastUsedAt: number | undefined;
}

/** Tells of every user who has any. @throws StoreUnavailable */
export type ListCredentials = () => Promise<ReadonlyMap<string, CredentialSummary>>;

interface CredentialListDeps {
  readonly fleet: Fleet;
  readonly keyUses: Pick<LastUses, 'allUses'>;
  readonly sessionUses: Pick<LastUses, 'allUses'>;
}

export const NO_CREDENTIALS: CredentialSummary = {
  apiKeys: 0,
  apiKeysLastUsedAt: undefined,
  sessions: 0,
  sessionsLastUsedAt: undefined,
};

/** Creates the list: one look through memory, and the notes of last uses in pages; see `ListCredentials`. */
export function createCredentialList({ fleet, keyUses, sessionUses }: CredentialListDeps): ListCredentials {
  return async () => {
    const [usesOfKeys, usesOfSessions, memory] = await Promise.all([
      keyUses.allUses(),
      sessionUses.allUses(),
      fleet.whole(),
    ]);
    const summaries = new Map<string, CredentialSummary>();
    const change = (userId: string, changed: (summary: CredentialSummary) => Partial<CredentialSummary>): void => {
      const before = summaries.get(userId) ?? NO_CREDENTIALS;
      summaries.set(userId, { ...before, ...changed(before) });
    };
    for (const account of memory.accounts()) {
      for (const { id, record } of account.apiKeys()) {
        if (isExpiredKey(record, memory.now())) continue;
        const at = useOf(usesOfKeys, account.id, id);
        for (const userId of makersOf(record, memory.now())) {
          change(userId, ({ apiKeys, apiKeysLastUsedAt: last }) => ({
            apiKeys: apiKeys + 1,
            apiKeysLastUsedAt: later(last, at),
          }));
        }
      }
    }
    for (const { id: userId } of memory.users()) {
      for (const { id, record } of memory.sessionsOf(userId)) {
        if (record.expiresAt <= memory.now()) continue;
        const at = useOf(usesOfSessions, userId, id) ?? record.createdAt;
        change(userId, ({ sessions, sessionsLastUsedAt: last }) => ({
          sessions: sessions + 1,
          sessionsLastUsedAt: later(last, at),
        }));
      }
    }
    return summaries;
  };
}

const useOf = (uses: AllUses, ownerId: string, id: string): number | undefined => uses.get(ownerId)?.get(id);

const later = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
