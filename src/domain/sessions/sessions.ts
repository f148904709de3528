import { expectUnchanged } from '../../store/port.ts';
import { generateSecretWord, type RandomSource } from '../credentials/random-ids.ts';
import { Secret } from '../credentials/secret.ts';
import { tokenHash } from '../credentials/tokens.ts';
import type { FleetReader, SessionEntry, UserEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { mutate } from '../mutation/mutation.ts';
import { withParts, type MutationDeps, type Origin } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import type { SessionRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { withAddition, withUse } from '../users/user-state.ts';
import { beginningStep, sessionEnd, type NewSession } from '../users/replaced-session.ts';
import { liveSession, type LiveSession } from './guard.ts';
import type { SessionUses } from './session-uses.ts';
import { KEYS } from '../records/keys.ts';

/** A request's session with its user, and the reader that found them. */
export interface SignedIn extends LiveSession {
  readonly reader: FleetReader;
}

/** The facts of a session beside its times. */
type SessionTraits = Pick<
  SessionRecord,
  'userId' | 'method' | 'browser' | 'identity' | 'signedInAt' | 'proof' | 'secondFactor'
>;

/** A session as it is listed. Times are milliseconds since 1970. */
export interface ListedSession extends Pick<SessionRecord, 'createdAt' | 'expiresAt' | 'method' | 'browser'> {
  readonly sessionId: string;
  readonly lastUsedAt: number;
}

/** The operations on sessions. */
export interface Sessions {
  /**
   * Finds the session of a token, as of now or later: no session that was ended before passes (A12).
   * @param isUse false where the request keeps no idle session alive, as by a page that only listens; true without it
   * @throws Refusal `invalid_session`; StoreUnavailable, since authentication fails closed
   */
  authenticate(token: string, isUse?: boolean): Promise<SignedIn>;
  /** Draws a token and makes the record of a session of the user. @param browser its User-Agent in a few words */
  draw(session: SessionTraits, at: number): NewSession;
  /**
   * Begins a session. Sessions above the bound end, the oldest first.
   * @param holds whether the user, as each attempt reads him, is still the one who was let in, such as by his password
   * @param replaced the session that this one takes the place of, as in the same browser
   * @param isNewBrowser the user has not signed in from it lately, and is shown that
   * @returns the user as the commit relied on him
   * @throws Refusal `sign_in_failed` where it does not hold, or the user is gone or disabled; StoreUnavailable; Busy
   */
  begin(
    origin: Origin,
    session: NewSession,
    holds: (user: UserEntry) => boolean,
    replaced?: string,
    isNewBrowser?: boolean,
  ): Promise<UserEntry>;
  /** Ends a session of a user; it is unknown from then on. @throws Refusal `not_found`; StoreUnavailable; Busy */
  end(origin: Origin, userId: string, sessionId: string): Promise<void>;
  /** Lists the sessions of a user, the one that was used last first. @throws StoreUnavailable; BadRecord */
  list(userId: string): Promise<readonly ListedSession[]>;
}

interface SessionsDeps extends MutationDeps {
  readonly random: RandomSource;
  readonly uses: SessionUses;
  /** How long a session lasts in all. */
  readonly sessionMs: number;
}

/** The prefix lets a scanner of secrets find a token. */
const PREFIX = 'mst_session_';
const TOKEN = /^mst_session_[0-9A-Za-z]{43}$/;

/** Creates the operations on sessions; see `Sessions`. */
export function createSessions(deps: SessionsDeps): Sessions {
  const { fleet, clock, uses } = deps;
  return {
    async authenticate(token, isUse = true) {
      if (!TOKEN.test(token)) throw new Refusal('invalid_session');
      const reader = await fleet.current();
      const live = await liveSession(reader, tokenHash(token));
      if (await uses.isIdle(live.session)) throw new Refusal('invalid_session');
      if (isUse) uses.used(live.session);
      return { reader, ...live };
    },
    draw(session, at) {
      const token = new Secret(`${PREFIX}${generateSecretWord(deps.random)}`);
      const record: SessionRecord = { ...session, createdAt: at, expiresAt: at + deps.sessionMs };
      return { token, sessionId: tokenHash(token.reveal()), record };
    },
    async begin(origin, session, holds, replaced, isNewBrowser = false) {
      return await mutate<UserEntry>(deps, origin, async (reader) => {
        const user = await reader.user(session.record.userId);
        if (!user || user.record.disabled || !holds(user)) throw new Refusal('sign_in_failed');
        const ended = await endedBy(reader, user, replaced);
        const addition = { kind: 'browser', name: session.record.browser } as const;
        const used = withUse(user.record, origin.at);
        const record = isNewBrowser ? withAddition(used, origin, addition) : used;
        // The user's record is written even where it is as it was: a reset, a new password or a disabling at the same
        // instant conflicts with this sign-in, and ends it with the other sessions.
        return {
          ...withParts(beginningStep(session, origin), {
            expect: [expectUnchanged(user)],
            write: [...ended.flatMap(sessionEnd), put(KEYS.user(user.id), record)],
          }),
          result: user,
        };
      });
    },
    end: (origin, userId, sessionId) => end(deps, origin, userId, sessionId),
    async list(userId) {
      const memory = await fleet.whole();
      const lastUses = await uses.lastUses(userId);
      const listed = memory.sessionsOf(userId).map(({ id, record }): ListedSession => {
        const { createdAt, expiresAt, method, browser } = record;
        return { sessionId: id, createdAt, expiresAt, method, browser, lastUsedAt: lastUses.get(id) ?? createdAt };
      });
      return listed.filter(({ expiresAt }) => expiresAt > clock.now()).sort((a, b) => b.lastUsedAt - a.lastUsedAt);
    },
  };
}

/** The ids of the sessions that end as another one begins: the one in its place, and those that are too many. */
async function endedBy(reader: FleetReader, user: UserEntry, replaced: string | undefined): Promise<readonly string[]> {
  const others = [...(await reader.sessionsOf(user.id))].filter(({ id }) => id !== replaced);
  return [...oldest(others, LIMITS.sessionsPerUserMax - 1), ...(replaced === undefined ? [] : [replaced])];
}

/** The ids of those that are too many, the oldest first. */
function oldest(sessions: readonly SessionEntry[], kept: number): readonly string[] {
  const byAge = [...sessions].sort((a, b) => a.record.createdAt - b.record.createdAt);
  return byAge.slice(0, Math.max(0, byAge.length - kept)).map(({ id }) => id);
}

async function end(deps: SessionsDeps, origin: Origin, userId: string, sessionId: string): Promise<void> {
  await mutate<void>(deps, origin, async (reader) => {
    const session = await reader.session(sessionId);
    if (!session || session.record.userId !== userId) throw new Refusal('not_found');
    return {
      accountId: OPERATOR_AUDIT,
      action: 'session.ended',
      detail: { userId },
      expect: [expectUnchanged(session)],
      write: sessionEnd(sessionId),
      result: undefined,
    };
  });
}
