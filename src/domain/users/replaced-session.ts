import { expectAbsent, type Write } from '../../store/port.ts';
import type { Secret } from '../credentials/secret.ts';
import { withParts, type Origin, type Step } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { SessionRecord } from '../records/user-records.ts';

/** A session that is about to begin. Its token is drawn once, before the first attempt of the commit. */
export interface NewSession {
  readonly token: Secret;
  readonly sessionId: string;
  readonly record: SessionRecord;
}

/**
 * A session that takes the place of the one in use, in the commit that changes a way in: a copy of its cookie is
 * refused from then on (A18).
 */
export interface Replacement {
  readonly session: NewSession;
  /** The id of the session in use, which the guard of the origin expects. */
  readonly replaced: string;
}

/** The writes that end a session. */
export const sessionEnd = (sessionId: string): readonly Write[] => [
  { remove: KEYS.session(sessionId) },
  { remove: KEYS.refresh(sessionId) },
];

/** The step that begins a session, as the audit tells it. */
export const beginningStep = ({ sessionId, record }: NewSession, { client }: Pick<Origin, 'client'>): Step<void> => ({
  accountId: OPERATOR_AUDIT,
  action: 'session.created',
  detail: { userId: record.userId, method: record.method, ...(client !== undefined && { client }) },
  expect: [expectAbsent(KEYS.session(sessionId))],
  write: [put(KEYS.session(sessionId), record)],
  result: undefined,
});

/** The step by which a session takes the place of another one. */
export function replacingStep({ session, replaced }: Replacement, origin: Pick<Origin, 'client'>): Step<void> {
  return withParts(beginningStep(session, origin), { write: sessionEnd(replaced) });
}
