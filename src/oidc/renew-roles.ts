import type { GroupRule } from '../config/panel.ts';
import type { Fleet } from '../domain/fleet/fleet.ts';
import type { FleetMemory } from '../domain/fleet/memory.ts';
import type { SessionEntry, UserEntry } from '../domain/fleet/reader.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Origin } from '../domain/mutation/step.ts';
import type { Identity } from '../domain/records/user-records.ts';
import { Refusal } from '../domain/refusal.ts';
import type { ClaimedToken, RefreshTokens } from '../domain/sessions/refresh-tokens.ts';
import type { Sessions } from '../domain/sessions/sessions.ts';
import { mappedRoles } from '../domain/users/mapped-roles.ts';
import type { ProviderDepartures } from '../domain/users/provider-departures.ts';
import type { ProviderUsers } from '../domain/users/provider-users.ts';
import { hasIdentity } from '../domain/users/user-state.ts';
import type { Log } from '../log.ts';
import { RecentMap } from '../packed/recent-map.ts';
import type { Clock } from '../time/clock.ts';
import type { ProviderClient } from './provider-client.ts';
import { ProviderFault } from './provider-fault.ts';

interface RenewRolesDeps {
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly log: Log;
  readonly client: Pick<ProviderClient, 'renew'>;
  readonly refreshTokens: Pick<RefreshTokens, 'claim'>;
  readonly providerUsers: Pick<ProviderUsers, 'renew'>;
  readonly sessions: Pick<Sessions, 'end'>;
  readonly departures: Pick<ProviderDepartures, 'endSessions' | 'refused' | 'settle'>;
  /** The scopes that were asked for, separated by spaces. */
  readonly scopes: string;
  readonly groupsClaim: string;
  readonly groups: () => readonly GroupRule[];
}

/** Roles are renewed when they are so old, so that an outage of the provider may last a quarter of an hour. */
const RENEWED_MS = LIMITS.mappedRolesMs * 0.75;
/**
 * From then on nobody is let in by the session (domain/sessions/guard.ts); it is removed a little later, so that a
 * renewal which is under way on another replica still finds it.
 */
const REMOVED_MS = LIMITS.mappedRolesMs + 300_000;
const USERS_A_ROUND_MAX = 500;
/** An open question waits for so long: the provider may tell of a logout before it commits what it is a part of. */
const QUESTION_WAITS_MS = 5000;
/** Refusals that this replica has heard, in case that the store could not take what follows from them. */
const REFUSALS_KEPT_MAX = 1000;
/** Calls of the provider at once. */
const TOGETHER_MAX = 8;
const REQUEST_ID = 'mapped-roles';

/** A user whose roles are old, or about whom a question is open. */
interface Due {
  readonly user: UserEntry;
  /** The sessions that began at the provider. */
  readonly sessions: readonly SessionEntry[];
  readonly ageMs: number;
}

/** A refresh token by which the provider is asked. */
interface Candidate {
  readonly sessionId: string;
  readonly identity: Identity | undefined;
}

/**
 * The news of a person by one token: `renewed`; `refused`, which says that the provider lets the person in no more;
 * `spent`, where it refuses the token and says nothing of the person; `there`, where the groups cannot be taken; `none`
 * where there is no token, and `unknown` where another replica asks or the provider rejects the client.
 */
type Outcome = 'renewed' | 'refused' | 'spent' | 'there' | 'none' | 'unknown';

interface RoundDeps extends RenewRolesDeps {
  readonly heard: RecentMap<string, true>;
}

/**
 * One round: the roles that groups give are computed anew with refresh tokens, and open questions are asked. Where that
 * was not possible for an hour, the sessions that began at the provider go, and a question stays open. Every replica
 * runs it; a token is claimed, since it may be good once.
 * @throws ProviderFault `unavailable` where the provider does not answer: the round ends, and is repeated
 */
export function createRenewRoles(parts: RenewRolesDeps): (signal: AbortSignal) => Promise<void> {
  const deps: RoundDeps = { ...parts, heard: new RecentMap(REFUSALS_KEPT_MAX) };
  return async (signal) => {
    const due = dueUsers(await deps.fleet.whole(), deps.clock.now());
    for (const { user, sessions } of due.filter(({ ageMs }) => ageMs > REMOVED_MS)) {
      await deps.departures.endSessions(originOf(deps), user.id, new Set(sessions.map(({ id }) => id)));
    }
    const renewable = due.filter(({ ageMs }) => ageMs <= REMOVED_MS);
    let fault: unknown;
    for (let start = 0; start < renewable.length && !signal.aborted; start += TOGETHER_MAX) {
      const some = renewable.slice(start, start + TOGETHER_MAX);
      const results = await Promise.allSettled(some.map((one) => renewed(deps, one)));
      const failed = results.filter((result) => result.status === 'rejected');
      fault ??= failed[0]?.reason;
      // One user's fault holds up no other; where all fail, the provider is away.
      if (failed.length === some.length) break;
    }
    if (fault !== undefined) throw fault;
  };
}

/** The oldest roles first. */
function dueUsers(memory: FleetMemory, now: number): readonly Due[] {
  const due: Due[] = [];
  for (const user of memory.users()) {
    const { mapped, toAsk } = user.record;
    const sessions = memory.sessionsOf(user.id).filter(({ record }) => record.method === 'provider');
    const since = mapped?.at ?? Math.max(...sessions.map(({ record }) => record.createdAt));
    const ageMs = sessions.length > 0 ? now - since : 0;
    const isAsked = toAsk !== undefined && now - toAsk.at >= QUESTION_WAITS_MS;
    if (isAsked || ageMs > RENEWED_MS) due.push({ user, sessions, ageMs });
  }
  return due.sort((a, b) => b.ageMs - a.ageMs).slice(0, USERS_A_ROUND_MAX);
}

const originOf = ({ clock }: RenewRolesDeps): Origin => ({
  actor: 'muster',
  requestId: REQUEST_ID,
  at: clock.now(),
  deadline: clock.monotonic() + LIMITS.requestDeadlineMs,
});

/** The open question first, then the newest session: its token is the likeliest to be good. */
function candidatesOf({ user: { record }, sessions }: Due): readonly Candidate[] {
  const byAge = [...sessions].sort((a, b) => b.record.createdAt - a.record.createdAt);
  const ofSessions = byAge.map(({ id, record: { identity } }) => ({ sessionId: id, identity }));
  return record.toAsk ? [record.toAsk, ...ofSessions] : ofSessions;
}

async function renewed(deps: RoundDeps, due: Due): Promise<void> {
  const { user } = due;
  const asked = await deps.fleet.revision();
  const outcomes: Outcome[] = [];
  const refused: Candidate[] = [];
  for (const candidate of candidatesOf(due)) {
    const outcome = await renewedBy(deps, user, candidate, asked);
    outcomes.push(outcome);
    if (outcome === 'refused') refused.push(candidate);
    if (outcome === 'renewed' || outcome === 'unknown') break;
  }
  const told = outcomes.filter((outcome) => outcome !== 'none');
  const isGone = told[0] === 'refused' && told.every((outcome) => outcome === 'refused' || outcome === 'spent');
  const { identity } = refused[0] ?? {};
  if (isGone && identity) {
    deps.log.info({ userId: user.id }, 'the provider refuses a user, whose sessions and rights by groups end');
    await deps.departures.refused(originOf(deps), user.id, { identity, known: user.record.mapped, asked });
    return;
  }
  for (const { sessionId } of refused) await ended(deps, user, sessionId);
  const isAnswered = outcomes[0] !== 'unknown' && outcomes[0] !== 'renewed';
  if (user.record.toAsk && isAnswered) await deps.departures.settle(user);
}

async function renewedBy(
  deps: RoundDeps,
  user: UserEntry,
  { sessionId, identity }: Candidate,
  asked: number,
): Promise<Outcome> {
  const { client, clock, log } = deps;
  if (!identity || !hasIdentity(user.record, identity)) return 'none';
  const claimed = await deps.refreshTokens.claim(sessionId, clock.now(), 'ask');
  if (typeof claimed === 'string') return claimed === 'busy' ? 'unknown' : 'none';
  try {
    const answer = await client.renew(claimed.token, identity);
    if (answer.refreshToken) await claimed.replace(answer.refreshToken);
    const mapped = mappedRoles(answer.claims[deps.groupsClaim], deps.groups(), { at: clock.now(), asked });
    if (typeof mapped === 'string') {
      log.info({ userId: user.id, reason: mapped }, 'the groups of a user cannot be taken');
      return 'there';
    }
    await deps.providerUsers.renew(originOf(deps), user.id, { identity, mapped });
    return 'renewed';
  } catch (error) {
    if (!(error instanceof ProviderFault)) throw error;
    if (error.isUnasked) await claimed.release();
    if (error.reason === 'unavailable') throw error;
    log.info({ err: error, userId: user.id }, 'the roles of a user could not be renewed');
    if (!error.isFinal) return 'unknown';
    return await refusedBy(deps, user, sessionId, claimed);
  }
}

/**
 * Judges the refusal of a refresh token. One of offline access outlives the session at the provider (OpenID Connect
 * Back-Channel Logout 1.0, 2.7), so that its refusal is of the person. Any other one ends with that session. A token
 * that may be spent says nothing of the person.
 */
async function refusedBy(
  deps: RoundDeps,
  user: UserEntry,
  sessionId: string,
  claimed: Pick<ClaimedToken, 'isPerhapsSpent' | 'drop'>,
): Promise<Outcome> {
  const isOffline = deps.scopes.split(' ').includes('offline_access');
  const isSure = !claimed.isPerhapsSpent || deps.heard.has(sessionId);
  if (isOffline && isSure) {
    deps.heard.set(sessionId, true);
    return 'refused';
  }
  await claimed.drop();
  if (!isOffline) await ended(deps, user, sessionId);
  return 'spent';
}

async function ended(deps: RenewRolesDeps, user: UserEntry, sessionId: string): Promise<void> {
  await deps.sessions.end(originOf(deps), user.id, sessionId).catch((error: unknown) => {
    // It has ended already, or another replica was faster.
    if (!(error instanceof Refusal)) throw error;
  });
}
