import { expectUnchanged } from '../../store/port.ts';
import type { FleetReader, SessionEntry, UserEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import type { Guard } from '../mutation/step.ts';
import { Refusal } from '../refusal.ts';
import { neededRight, type Need } from '../users/roles.ts';

/** A session that lives, with its user. */
export interface LiveSession {
  readonly session: SessionEntry;
  readonly user: UserEntry;
}

/**
 * Reads a session and its user.
 * @throws Refusal `invalid_session` where the session has ended or expired, or its user is gone or disabled;
 * StoreUnavailable
 */
export async function liveSession(reader: FleetReader, sessionId: string): Promise<LiveSession> {
  const session = await reader.session(sessionId);
  const user = session && (await reader.user(session.record.userId));
  if (!session || !user || user.record.disabled) throw new Refusal('invalid_session');
  if (isOver({ session, user }, reader.now())) throw new Refusal('invalid_session');
  return { session, user };
}

/**
 * One that began at the provider lasts as long as its user's roles were computed within the hour: whoever left the
 * provider's directory is out by then, also where nothing else tells so.
 */
function isOver({ session, user }: LiveSession, now: number): boolean {
  const { expiresAt, method, createdAt, signedInAt = createdAt } = session.record;
  if (now >= expiresAt) return true;
  return method === 'provider' && now - (user.record.mapped?.at ?? signedInAt) > LIMITS.mappedRolesMs;
}

/** The guard of a change that a session makes: its commit expects the session, the user and what gives the right. */
export const sessionGuard =
  (sessionId: string, need: Need): Guard =>
  async (reader) => {
    const { session, user } = await liveSession(reader, sessionId);
    const { expect } = await neededRight(reader, user, need);
    return [expectUnchanged(session), expectUnchanged(user), ...expect];
  };
