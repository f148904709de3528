import type { Write } from '../../store/port.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { KEYS } from '../records/keys.ts';
import type { UserRecord } from '../records/user-records.ts';
import { sessionEnd } from './replaced-session.ts';

/*
 * The sessions of a person end here, whoever ends them: an operator who disables or deletes the user, the provider, a
 * reset. API keys act as the account, and end with the right of their maker (made-keys.ts), and access tokens with the
 * last role on their account (made-tokens.ts).
 */

/** The writes that end every session of a user. @param except one that goes on @throws StoreUnavailable */
export async function endings(reader: FleetReader, userId: string, except?: string): Promise<readonly Write[]> {
  const sessions = [...(await reader.sessionsOf(userId))];
  return sessions.filter(({ id }) => id !== except).flatMap(({ id }) => sessionEnd(id));
}

/**
 * The record of a user about whom nothing is open at the provider, neither a question nor a refusal that many others
 * had with them, and the write that removes the token of the question.
 */
export function settled({ toAsk, refusedWithOthersAt: _judged, ...record }: UserRecord): {
  readonly record: UserRecord;
  readonly write: readonly Write[];
} {
  return { record, write: toAsk ? [{ remove: KEYS.refresh(toAsk.sessionId) }] : [] };
}
