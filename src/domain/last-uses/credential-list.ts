import type { Fleet } from '../fleet/fleet.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { isExpiredKey, makersOf } from '../key-validity/key-expiry.ts';
import type { LastUses, UsesByOwner } from './last-uses.ts';

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
  readonly keyUses: Pick<LastUses, 'usesOfMany'>;
  readonly sessionUses: Pick<LastUses, 'usesOfMany'>;
}

export const NO_CREDENTIALS: CredentialSummary = {
  apiKeys: 0,
  apiKeysLastUsedAt: undefined,
  sessions: 0,
  sessionsLastUsedAt: undefined,
};

/** A credential of users: an API key with its makers, or a session. */
interface Held {
  readonly id: string;
  /** The account of a key, or the user of a session. */
  readonly ownerId: string;
  readonly userIds: Iterable<string>;
  /** The time that counts where no use is known. */
  readonly otherwise: number | undefined;
}

/**
 * Creates the list: one look through memory, and the notes of last uses of those accounts and users alone that have any
 * such credential; see `ListCredentials`.
 */
export function createCredentialList({ fleet, keyUses, sessionUses }: CredentialListDeps): ListCredentials {
  return async () => {
    const memory = await fleet.whole();
    const [keys, sessions] = [keysOf(memory), sessionsOf(memory)];
    const [usesOfKeys, usesOfSessions] = await Promise.all([
      keyUses.usesOfMany(new Set(keys.map(({ ownerId }) => ownerId))),
      sessionUses.usesOfMany(new Set(sessions.map(({ ownerId }) => ownerId))),
    ]);
    const summaries = new Map<string, CredentialSummary>();
    const change = (userId: string, changed: (summary: CredentialSummary) => Partial<CredentialSummary>): void => {
      const before = summaries.get(userId) ?? NO_CREDENTIALS;
      summaries.set(userId, { ...before, ...changed(before) });
    };
    for (const key of keys) {
      for (const userId of key.userIds) {
        change(userId, ({ apiKeys, apiKeysLastUsedAt: last }) => ({
          apiKeys: apiKeys + 1,
          apiKeysLastUsedAt: later(last, useOf(usesOfKeys, key)),
        }));
      }
    }
    for (const session of sessions) {
      change(session.ownerId, ({ sessions: count, sessionsLastUsedAt: last }) => ({
        sessions: count + 1,
        sessionsLastUsedAt: later(last, useOf(usesOfSessions, session)),
      }));
    }
    return summaries;
  };
}

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

function sessionsOf(memory: FleetMemory): readonly Held[] {
  return Array.from(memory.users()).flatMap(({ id: ownerId }) =>
    memory
      .sessionsOf(ownerId)
      .filter(({ record }) => record.expiresAt > memory.now())
      .map(({ id, record }) => ({ id, ownerId, userIds: [ownerId], otherwise: record.createdAt })),
  );
}

const useOf = (uses: UsesByOwner, { ownerId, id, otherwise }: Held): number | undefined =>
  uses.get(ownerId)?.get(id) ?? otherwise;

const later = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
