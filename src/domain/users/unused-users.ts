import { expectAbsent, expectUnchanged, type Store } from '../../store/port.ts';
import { namesRead } from '../audit/names.ts';
import { unlessDamaged, EXPIRY_MARGIN_MS, type Sweep, type SweepDeps } from '../cleanup/sweep.ts';
import { generateMarker } from '../credentials/random-ids.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import type { UserEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { auditEntry } from '../mutation/commit.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { hasOpenLink } from './links.ts';
import { hasRoles } from './mapped-roles.ts';
import { recordsOf } from './user-deletion.ts';

const REMOVED_PER_PIECE_MAX = 50;

/**
 * Removes users who never had a role, and for a week neither a session nor a link nor a living API key: whoever has an
 * identity at the provider, or was made by an operator and never came, would stay for ever. Whatever gives a user one
 * of these writes the user's record, which the commit expects. A damaged record keeps its user.
 */
export const removeUnusedUsers: Sweep = async (deps, _from, signal) => {
  const now = deps.clock.now();
  let gone = 0;
  for (const user of deps.memory.users()) {
    if (signal.aborted || gone === REMOVED_PER_PIECE_MAX) break;
    if (isUnused(deps.memory, user, now) && (await unlessDamaged(goes(deps, user, now)))) gone += 1;
  }
  // The users of this piece are not found again.
  return { gone, next: gone === REMOVED_PER_PIECE_MAX ? '' : undefined };
};

/** @returns whether the user was removed */
async function goes(deps: SweepDeps, user: UserEntry, now: number): Promise<boolean> {
  const { store, clock, random, fence } = deps;
  if (await isWaitedFor(store, user.id, now)) return false;
  const origin = { actor: 'muster', requestId: generateMarker(random), at: clock.now() };
  const detail = { userId: user.id, unused: true };
  const step = { accountId: OPERATOR_AUDIT, action: 'user.deleted', detail } as const;
  const entry = await auditEntry(random, origin, step, origin.at, namesRead(deps.memory));
  const all = await recordsOf(deps, user);
  const { outcome } = await store.commit({
    expect: [expectUnchanged(user), ...all.expect, expectAbsent(entry.put), ...fence],
    write: [...all.write, entry],
  });
  return outcome === 'committed';
}

const isLongAgo = (at: number, now: number): boolean => at + LIMITS.rolelessKeptMs + EXPIRY_MARGIN_MS <= now;

/** A user as memory has it, which may be behind: the commit expects the user's record as it is here. */
function isUnused(
  memory: FleetMemory,
  { id, record: { roleless, mapped, installationRole } }: UserEntry,
  now: number,
): boolean {
  if (roleless === undefined || !isLongAgo(roleless, now) || hasRoles(mapped)) return false;
  if (installationRole !== undefined) return false;
  if (memory.operators().record.members.includes(id)) return false;
  const none = (some: Iterable<unknown>): boolean => Array.from(some).length === 0;
  return none(memory.sessionsOf(id)) && none(memory.accountsOfMember(id)) && none(memory.keysMadeBy(id));
}

/** Whether the user was seen within the week, or may still come by a link. @throws StoreUnavailable; BadRecord */
async function isWaitedFor(store: Store, userId: string, now: number): Promise<boolean> {
  const uses = await store.get(KEYS.sessionUses(userId));
  const sessions = uses ? parseRecord(KEYS.sessionUses, uses).record.sessions : [];
  return sessions.some(([, at]) => !isLongAgo(at, now)) || (await hasOpenLink({ store }, userId, now));
}
