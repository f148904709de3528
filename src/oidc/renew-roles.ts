import type { GroupRule } from '../config/panel.ts';
import type { Fleet } from '../domain/fleet/fleet.ts';
import type { FleetMemory } from '../domain/fleet/memory.ts';
import type { SessionEntry, UserEntry } from '../domain/fleet/reader.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Origin } from '../domain/mutation/step.ts';
import { Refusal } from '../domain/refusal.ts';
import type { RefreshTokens } from '../domain/sessions/refresh-tokens.ts';
import type { Sessions } from '../domain/sessions/sessions.ts';
import { mappedRoles } from '../domain/users/mapped-roles.ts';
import type { ProviderUsers } from '../domain/users/provider-users.ts';
import type { Log } from '../log.ts';
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

/** A user whose roles are old, with his sessions that began at the provider. */
interface Due {
  readonly user: UserEntry;
  readonly sessions: readonly SessionEntry[];
  readonly ageMs: number;
}

/**
 * One round: the roles that groups give are computed anew with refresh tokens. Where that was not possible for an hour,
 * the sessions that began at the provider go. Every replica runs it; a token is claimed, since it may be good once.
 * @throws ProviderFault `unavailable` where the provider does not answer: the round ends, and is repeated
 */
export function createRenewRoles(deps: RenewRolesDeps): (signal: AbortSignal) => Promise<void> {
  return async (signal) => {
    const due = dueUsers(await deps.fleet.whole(), deps.clock.now());
    for (const one of due.filter(({ ageMs }) => ageMs > REMOVED_MS)) await ended(deps, one);
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

/** The newest session first: its token is the likeliest to be good. */
async function renewed(deps: RenewRolesDeps, { user, sessions }: Due): Promise<void> {
  const byAge = [...sessions].sort((a, b) => b.record.createdAt - a.record.createdAt);
  for (const session of byAge) if (await renewedBy(deps, user, session)) return;
}

async function renewedBy(deps: RenewRolesDeps, user: UserEntry, session: SessionEntry): Promise<boolean> {
  const { client, clock, log } = deps;
  const { identity } = session.record;
  const claimed = identity ? await deps.refreshTokens.claim(session.id, clock.now()) : 'none';
  if (!identity || typeof claimed === 'string') return claimed === 'busy';
  try {
    const asked = await deps.fleet.revision();
    const answer = await client.renew(claimed.token, identity);
    if (answer.refreshToken) await claimed.replace(answer.refreshToken);
    const mapped = mappedRoles(answer.claims[deps.groupsClaim], deps.groups(), { at: clock.now(), asked });
    if (typeof mapped === 'string') {
      log.info({ userId: user.id, reason: mapped }, 'the groups of a user cannot be taken');
      return false;
    }
    await deps.providerUsers.renew(originOf(deps), user.id, { identity, mapped });
    return true;
  } catch (error) {
    if (!(error instanceof ProviderFault) || error.reason === 'unavailable') throw error;
    log.info({ err: error, userId: user.id }, 'the roles of a user could not be renewed');
    if (error.isFinal) await claimed.drop();
    return false;
  }
}

async function ended(deps: RenewRolesDeps, { user, sessions }: Due): Promise<void> {
  for (const { id } of sessions) {
    await deps.sessions.end(originOf(deps), user.id, id).catch((error: unknown) => {
      // Another replica was faster.
      if (!(error instanceof Refusal)) throw error;
    });
  }
}
