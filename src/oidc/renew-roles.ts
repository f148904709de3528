import type { GroupRule } from '../config/panel.ts';
import type { Fleet } from '../domain/fleet/fleet.ts';
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

export interface RenewRolesDeps {
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly log: Log;
  readonly client: ProviderClient;
  readonly refreshTokens: RefreshTokens;
  readonly providerUsers: ProviderUsers;
  readonly sessions: Pick<Sessions, 'end'>;
  readonly groupsClaim: string;
  readonly groups: readonly GroupRule[];
}

/** Roles are renewed when they are so old, so that an outage of the provider may last a quarter of an hour. */
const RENEWED_MS = LIMITS.mappedRolesMs * 0.75;
const USERS_A_ROUND_MAX = 100;
const REQUEST_ID = 'mapped-roles';

/**
 * One round: the roles that groups give are computed anew with refresh tokens. Where that was not possible for an hour,
 * they go, and with them the sessions that began at the provider. Every replica runs it; the token is claimed.
 */
export function createRenewRoles(deps: RenewRolesDeps): (signal: AbortSignal) => Promise<void> {
  return async (signal) => {
    const memory = await deps.fleet.whole();
    const now = deps.clock.now();
    const old = [...memory.users()].filter(({ record }) => record.mapped && now - record.mapped.at > RENEWED_MS);
    for (const user of old.slice(0, USERS_A_ROUND_MAX)) {
      if (signal.aborted) return;
      const sessions = memory.sessionsOf(user.id).filter(({ record }) => record.method === 'provider');
      const isRenewed = await renewed(deps, user, sessions);
      const age = deps.clock.now() - (user.record.mapped?.at ?? 0);
      if (!isRenewed && age > LIMITS.mappedRolesMs) await ended(deps, user, sessions);
    }
  };
}

const originOf = ({ clock }: RenewRolesDeps): Origin => ({
  actor: 'muster',
  requestId: REQUEST_ID,
  at: clock.now(),
  deadline: clock.monotonic() + LIMITS.requestDeadlineMs,
});

/** The newest session first: its token is the likeliest to be good. */
async function renewed(deps: RenewRolesDeps, user: UserEntry, sessions: readonly SessionEntry[]): Promise<boolean> {
  const byAge = [...sessions].sort((a, b) => b.record.createdAt - a.record.createdAt);
  for (const session of byAge) if (await renewedBy(deps, user, session)) return true;
  return false;
}

async function renewedBy(deps: RenewRolesDeps, user: UserEntry, session: SessionEntry): Promise<boolean> {
  const { client, clock, log } = deps;
  const subject = session.record.identity?.subject;
  const claimed = subject === undefined ? undefined : await deps.refreshTokens.claim(session.id, clock.now());
  if (!claimed || subject === undefined) return false;
  try {
    const answer = await client.renew(claimed.token, subject);
    if (answer.refreshToken) await claimed.replace(answer.refreshToken);
    const mapped = mappedRoles(answer.claims[deps.groupsClaim], deps.groups, clock.now());
    if (typeof mapped === 'string') {
      log.info({ userId: user.id, reason: mapped }, 'the groups of a user cannot be taken');
      return false;
    }
    await deps.providerUsers.renew(originOf(deps), user.id, mapped);
    return true;
  } catch (error) {
    if (!(error instanceof ProviderFault)) throw error;
    log.info({ err: error, userId: user.id }, 'the roles of a user could not be renewed');
    if (error.reason === 'refused') await claimed.drop();
    return false;
  }
}

async function ended(deps: RenewRolesDeps, user: UserEntry, sessions: readonly SessionEntry[]): Promise<void> {
  await deps.providerUsers.expire(originOf(deps), user.id);
  for (const { id } of sessions) {
    await deps.sessions.end(originOf(deps), user.id, id).catch((error: unknown) => {
      // Another replica was faster.
      if (!(error instanceof Refusal)) throw error;
    });
  }
}
