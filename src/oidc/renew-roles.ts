import type { GroupRule } from '../config/panel.ts';
import type { Fleet } from '../domain/fleet/fleet.ts';
import type { FleetMemory } from '../domain/fleet/memory.ts';
import type { SessionEntry, UserEntry } from '../domain/fleet/reader.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Origin } from '../domain/mutation/step.ts';
import { BadRecord } from '../domain/records/codec.ts';
import { Refusal } from '../domain/refusal.ts';
import type { ClaimedToken, RefreshTokens } from '../domain/sessions/refresh-tokens.ts';
import type { Sessions } from '../domain/sessions/sessions.ts';
import { mappedRoles } from '../domain/users/mapped-roles.ts';
import type { ProviderUsers } from '../domain/users/provider-users.ts';
import { hasIdentity } from '../domain/users/user-state.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../time/clock.ts';
import type { ProviderClient } from './provider-client.ts';
import { StoreUnavailable } from '../store/port.ts';
import { ProviderFault } from './provider-fault.ts';

interface RenewRolesDeps {
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly log: Log;
  readonly client: Pick<ProviderClient, 'renew'>;
  readonly refreshTokens: Pick<RefreshTokens, 'claim'>;
  readonly providerUsers: Pick<ProviderUsers, 'renew' | 'refuse'>;
  readonly sessions: Pick<Sessions, 'end'>;
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
/** Calls of the provider at once. */
const TOGETHER_MAX = 8;
const REQUEST_ID = 'mapped-roles';

/** A user whose roles are old, with the sessions that began at the provider. */
interface Due {
  readonly user: UserEntry;
  readonly sessions: readonly SessionEntry[];
  readonly ageMs: number;
}

/**
 * One round: the roles that groups give are computed anew with refresh tokens. Where the provider refuses those of a
 * user, all that acts as the user ends; where it was silent for an hour, the sessions that began there go. Every
 * replica runs it; a token is claimed, since it may be good once.
 * @throws ProviderFault `unavailable` or StoreUnavailable where they do not answer: the round is repeated
 */
export function createRenewRoles(deps: RenewRolesDeps): (signal: AbortSignal) => Promise<void> {
  return async (signal) => {
    const due = dueUsers(await deps.fleet.whole(), deps.clock.now());
    let outage: unknown;
    for (let start = 0; start < due.length && !signal.aborted; start += TOGETHER_MAX) {
      const some = due.slice(start, start + TOGETHER_MAX);
      const outages = await Promise.all(some.map((one) => outageAt(deps, one)));
      outage ??= outages.find((one) => one !== undefined);
      // The provider or the store is away where all fail.
      if (!outages.includes(undefined)) break;
    }
    if (outage !== undefined) throw outage;
  };
}

/** Looks after one user. @returns the outage that it met; any other fault is of this user, and holds up nobody else */
async function outageAt(deps: RenewRolesDeps, one: Due): Promise<ProviderFault | StoreUnavailable | undefined> {
  try {
    await (one.ageMs > REMOVED_MS ? ended(deps, one) : renewed(deps, one));
  } catch (error) {
    if (error instanceof ProviderFault || error instanceof StoreUnavailable) return error;
    deps.log.error({ err: error, userId: one.user.id }, 'the roles of a user could not be looked after');
  }
  return undefined;
}

/** The oldest roles first. */
function dueUsers(memory: FleetMemory, now: number): readonly Due[] {
  const due: Due[] = [];
  for (const user of memory.users()) {
    const sessions = memory.sessionsOf(user.id).filter(({ record }) => record.method === 'provider');
    const since = user.record.mapped?.at ?? Math.max(...sessions.map(({ record }) => record.createdAt));
    if (sessions.length > 0 && now - since > RENEWED_MS) due.push({ user, sessions, ageMs: now - since });
  }
  return due.sort((a, b) => b.ageMs - a.ageMs).slice(0, USERS_A_ROUND_MAX);
}

const originOf = ({ clock }: RenewRolesDeps): Origin => ({
  actor: 'muster',
  requestId: REQUEST_ID,
  at: clock.now(),
  deadline: clock.monotonic() + LIMITS.requestDeadlineMs,
});

/** The answer of the provider to the token of a session: `none` without a token, `unclear` without a meaning. */
type Said = 'accepts' | 'refuses' | 'busy' | 'unclear' | 'none';

/**
 * Asks with the token of the newest session first, until one is accepted. A refused one ends its session; where none is
 * accepted, the provider refuses the user. While another replica is at one of them, or an answer to one has no meaning,
 * the next round tells.
 */
async function renewed(deps: RenewRolesDeps, { user, sessions }: Due): Promise<void> {
  const asked = await deps.fleet.revision();
  const refused: SessionEntry[] = [];
  let [isAccepted, isUnclear] = [false, false];
  for (const session of sessions.toSorted((a, b) => b.record.createdAt - a.record.createdAt)) {
    const said = await saidOf(deps, user, session, asked);
    if (said === 'busy') return;
    if (said === 'refuses') refused.push(session);
    isUnclear ||= said === 'unclear';
    isAccepted = said === 'accepts';
    if (isAccepted) break;
  }
  if (isUnclear && !isAccepted) return;
  const identity = refused.map(({ record }) => record.identity).find((one) => one && hasIdentity(user.record, one));
  if (identity && !isAccepted) {
    await deps.providerUsers.refuse(originOf(deps), user.id, { identity, known: user.record.mapped, asked });
  }
  await ended(deps, { user, sessions: refused });
}

async function saidOf(deps: RenewRolesDeps, user: UserEntry, session: SessionEntry, asked: number): Promise<Said> {
  const { client, clock, log } = deps;
  const { identity } = session.record;
  const claimed = identity ? await claim(deps, session.id) : 'none';
  if (!identity || claimed === 'none') return 'none';
  if (claimed === 'busy') return claimed;
  try {
    const answer = await client.renew(claimed.token, identity);
    if (answer.refreshToken) await claimed.replace(answer.refreshToken);
    const mapped = mappedRoles(answer.claims[deps.groupsClaim], deps.groups(), { at: clock.now(), asked });
    if (typeof mapped === 'string')
      log.info({ userId: user.id, reason: mapped }, 'the groups of a user cannot be taken');
    else await deps.providerUsers.renew(originOf(deps), user.id, { identity, mapped });
    return 'accepts';
  } catch (error) {
    if (!(error instanceof ProviderFault) || error.reason === 'unavailable') throw error;
    log.info({ err: error, userId: user.id }, 'the roles of a user could not be renewed');
    return error.isFinal ? 'refuses' : 'unclear';
  }
}

/** @throws StoreUnavailable; ConfigurationFault */
async function claim(
  { refreshTokens, clock, log }: RenewRolesDeps,
  sessionId: string,
): Promise<ClaimedToken | 'none' | 'busy'> {
  try {
    return await refreshTokens.claim(sessionId, clock.now());
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    log.warn({ err: error }, 'a refresh token is damaged and counts as none');
    return 'none';
  }
}

async function ended(deps: RenewRolesDeps, { user, sessions }: Omit<Due, 'ageMs'>): Promise<void> {
  for (const { id } of sessions) {
    await deps.sessions.end(originOf(deps), user.id, id).catch((error: unknown) => {
      // Another replica was faster.
      if (!(error instanceof Refusal)) throw error;
    });
  }
}
