import type { Fleet } from '../fleet/fleet.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { isExpiredKey, makersOf } from '../key-validity/key-expiry.ts';
import { isRefused } from './mapped-roles.ts';
import type { LastUses, UsesByOwner } from '../last-uses/last-uses.ts';
import type { AccessTokenRecord, SessionRecord } from '../records/user-records.ts';

/** The credentials that a user has. Times are milliseconds since 1970; undefined where nothing was used. */
export interface CredentialSummary {
  /** Living API keys that the user made. */
  readonly apiKeys: number;
  readonly apiKeysLastUsedAt: number | undefined;
  readonly accessTokens: number;
  readonly accessTokensLastUsedAt: number | undefined;
  readonly sessions: number;
  readonly sessionsLastUsedAt: number | undefined;
  /** The instant at which the provider refused a user who has living API keys; undefined for others. */
  readonly providerRefusedAt: number | undefined;
}

/** Lists the credentials of each user who has one, by the user's id. @throws StoreUnavailable */
export type ListCredentials = () => Promise<ReadonlyMap<string, CredentialSummary>>;

interface CredentialListDeps {
  readonly fleet: Fleet;
  readonly keyUses: Pick<LastUses, 'usesOfMany'>;
  /** The uses of sessions and access tokens, by their user. */
  readonly personUses: Pick<LastUses, 'usesOfMany'>;
}

export const NO_CREDENTIALS: CredentialSummary = {
  apiKeys: 0,
  apiKeysLastUsedAt: undefined,
  accessTokens: 0,
  accessTokensLastUsedAt: undefined,
  sessions: 0,
  sessionsLastUsedAt: undefined,
  providerRefusedAt: undefined,
};

/** A credential of users: an API key with its makers, a session or an access token. */
interface Held {
  readonly id: string;
  /** The account of a key, or the user of the others. */
  readonly ownerId: string;
  readonly userIds: Iterable<string>;
  /** The time that counts where no use is known. */
  readonly otherwise: number | undefined;
}

/**
 * Creates the list: one look through memory, and the notes of last uses of those accounts and users alone that have any
 * such credential; see `ListCredentials`.
 */
export function createCredentialList({ fleet, keyUses, personUses }: CredentialListDeps): ListCredentials {
  return async () => {
    const memory = await fleet.whole();
    const keys = keysOf(memory);
    const sessions = ofPeople(memory, memory.sessions(), ({ createdAt }) => createdAt);
    const tokens = ofPeople(memory, memory.accessTokens(), () => undefined);
    const [usesOfKeys, usesByPerson] = await Promise.all([
      keyUses.usesOfMany(new Set(keys.map(({ ownerId }) => ownerId))),
      personUses.usesOfMany(new Set([...sessions, ...tokens].map(({ ownerId }) => ownerId))),
    ]);
    const summaries = new Map<string, CredentialSummary>();
    const add = (held: readonly Held[], uses: UsesByOwner, [count, last]: Counted): void => {
      for (const one of held) {
        for (const userId of one.userIds) {
          const before = summaries.get(userId) ?? NO_CREDENTIALS;
          const lastUsedAt = later(before[last], useOf(uses, one));
          summaries.set(userId, { ...before, [count]: before[count] + 1, [last]: lastUsedAt });
        }
      }
    };
    add(keys, usesOfKeys, ['apiKeys', 'apiKeysLastUsedAt']);
    add(tokens, usesByPerson, ['accessTokens', 'accessTokensLastUsedAt']);
    add(sessions, usesByPerson, ['sessions', 'sessionsLastUsedAt']);
    for (const [userId, summary] of summaries) {
      const record = memory.user(userId)?.record;
      if (summary.apiKeys === 0 || !record || !isRefused(record)) continue;
      summaries.set(userId, { ...summary, providerRefusedAt: record.providerRefusedAt });
    }
    return summaries;
  };
}

/** The number of users whom the provider refused while API keys that they made work: an operator decides on these. */
export function refusedWithKeys(memory: FleetMemory): number {
  const refused = Array.from(memory.users()).filter(({ record }) => isRefused(record));
  if (refused.length === 0) return 0;
  const makers = new Set(keysOf(memory).flatMap(({ userIds }) => [...userIds]));
  return refused.filter(({ id }) => makers.has(id)).length;
}

/** The fields that count a kind of credential, and tell of its last use. */
type Counted = {
  [Kind in 'apiKeys' | 'accessTokens' | 'sessions']: readonly [count: Kind, last: `${Kind}LastUsedAt`];
}['apiKeys' | 'accessTokens' | 'sessions'];

/** The living API keys that people made. */
function keysOf(memory: FleetMemory): readonly Held[] {
  const held: Held[] = [];
  for (const account of memory.accounts()) {
    for (const { id, record } of account.apiKeys()) {
      const userIds = makersOf(record, memory.now());
      if (userIds.size === 0 || isExpiredKey(record, memory.now())) continue;
      held.push({ id, ownerId: account.id, userIds, otherwise: undefined });
    }
  }
  return held;
}

/**
 * The living sessions or access tokens.
 * @param otherwise the time that counts where no use of one is known
 */
const ofPeople = <One extends SessionRecord | AccessTokenRecord>(
  memory: FleetMemory,
  entries: Iterable<{ readonly id: string; readonly record: One }>,
  otherwise: (record: One) => number | undefined,
): readonly Held[] =>
  Array.from(entries)
    .filter(({ record }) => record.expiresAt > memory.now())
    .map(({ id, record }) => ({
      id,
      ownerId: record.userId,
      userIds: [record.userId],
      otherwise: otherwise(record),
    }));

const useOf = (uses: UsesByOwner, { ownerId, id, otherwise }: Held): number | undefined =>
  uses.get(ownerId)?.get(id) ?? otherwise;

const later = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
