import type { GroupRule } from '../config/panel.ts';
import type { Fleet } from '../domain/fleet/fleet.ts';
import type { SessionEntry, UserEntry } from '../domain/fleet/reader.ts';
import type { Origin } from '../domain/mutation/step.ts';
import { BadRecord } from '../domain/records/codec.ts';
import type { Identity } from '../domain/records/user-records.ts';
import { Refusal } from '../domain/refusal.ts';
import type { ClaimedToken, RefreshTokens } from '../domain/sessions/refresh-tokens.ts';
import type { Sessions } from '../domain/sessions/sessions.ts';
import { mappedRoles } from '../domain/users/mapped-roles.ts';
import { signedInAt, type ProviderDepartures, type ProviderRefusal } from '../domain/users/provider/provider-departures.ts';
import type { ProviderUsers } from '../domain/users/provider/provider-users.ts';
import { hasIdentity } from '../domain/users/user-state.ts';
import type { Log } from '../log.ts';
import { RecentMap } from '../packed/recent-map.ts';
import type { Clock } from '../time/clock.ts';
import type { RenewalMetrics } from './metrics.ts';
import type { ProviderClient } from './provider-client.ts';
import { ProviderFault } from './provider-fault.ts';

/* The provider is asked about one person with the refresh tokens that it gave. */

/** The parts by which people are asked about. */
export interface AskDeps {
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: RenewalMetrics;
  readonly client: Pick<ProviderClient, 'renew'>;
  readonly refreshTokens: Pick<RefreshTokens, 'claim'>;
  readonly providerUsers: Pick<ProviderUsers, 'renew'>;
  readonly sessions: Pick<Sessions, 'end'>;
  readonly departures: Pick<ProviderDepartures, 'settle'>;
  /** The client that this installation is at the provider. */
  readonly clientId: string;
  readonly groupsClaim: string;
  readonly groups: () => readonly GroupRule[];
}

/** A person about whom the provider may be asked. */
export interface Person {
  readonly user: UserEntry;
  /** The sessions that began at the provider. */
  readonly sessions: readonly SessionEntry[];
}

/** A refresh token by which the provider is asked. */
interface Candidate {
  readonly sessionId: string;
  readonly identity: Identity;
  /** When the person was last seen at the provider by its session, in milliseconds since 1970. */
  readonly since: number;
}

/** What the provider says of a person. */
export type Verdict =
  | { readonly of: 'renewed'; readonly since: number }
  /** It lets the person in no more: it refuses the token of the newest sign-in, and renews none. */
  | { readonly of: 'refused'; readonly person: Person; readonly since: number; readonly refusal: ProviderRefusal }
  /** Another replica asks about the person. */
  | { readonly of: 'busy' }
  | { readonly of: 'nothing' };

/**
 * The outcome of one token: `refused` tells of the person; `spent` where the provider refuses the token, which tells
 * nothing of the person; `there` where the groups cannot be taken; `none` where there is no token, or no answer to it
 * can be expected; `waits` where the provider refuses the client, and `odd` where its answer has no meaning.
 */
type Outcome = 'renewed' | 'refused' | 'spent' | 'there' | 'none' | 'busy' | 'waits' | 'odd';

/** They tell how the person stands, or that no other token would tell it now. */
const LAST: ReadonlySet<Outcome> = new Set(['renewed', 'there', 'busy', 'waits']);
const OPEN: ReadonlySet<Outcome> = new Set(['busy', 'waits', 'odd']);
const SAYS_GONE: ReadonlySet<Outcome> = new Set(['refused', 'spent', 'none']);

/** A question whose answers have had no meaning for so long, ten minutes of rounds, has none. */
const ODD_MAX = 30;
/** This replica remembers so many tokens of either kind. */
const REMEMBERED_MAX = 1000;

/**
 * Asks about a person: the token of the newest sign-in first.
 * @throws ProviderFault `unavailable`; StoreUnavailable; Busy
 */
export type AskProvider = (person: Person, origin: Origin) => Promise<Verdict>;

interface Remembering extends AskDeps {
  /** Tokens whose refusal was heard, where the store could not take what follows from it. */
  readonly heard: RecentMap<string, true>;
  readonly odd: RecentMap<string, number>;
}

/** Creates the question; see `AskProvider`. */
export function createAskProvider(parts: AskDeps): AskProvider {
  const deps = { ...parts, heard: new RecentMap(REMEMBERED_MAX), odd: new RecentMap(REMEMBERED_MAX) } as Remembering;
  return async (person, origin) => {
    const { user } = person;
    const asked = await deps.fleet.revision();
    const outcomes: Outcome[] = [];
    const refused: Candidate[] = [];
    const candidates = candidatesOf(person);
    for (const candidate of candidates) {
      const outcome = await outcomeOf(deps, person, candidate, origin, asked);
      outcomes.push(outcome);
      if (outcome === 'refused') refused.push(candidate);
      if (LAST.has(outcome)) break;
    }
    const [newest] = candidates;
    if (newest && outcomes[0] === 'refused' && outcomes.every((outcome) => SAYS_GONE.has(outcome))) {
      const refusal = { identity: newest.identity, known: user.record.mapped, asked };
      return { of: 'refused', person, since: newest.since, refusal };
    }
    const isRenewed = outcomes.at(-1) === 'renewed';
    // A refusal stays good until it is known what it means: the token is asked about again.
    if (!isRenewed && outcomes.some((outcome) => OPEN.has(outcome))) {
      return { of: outcomes.includes('busy') ? 'busy' : 'nothing' };
    }
    for (const { sessionId } of refused) await ended(deps, person, sessionId, origin);
    if (isRenewed) return { of: 'renewed', since: candidates[outcomes.length - 1]?.since ?? 0 };
    if (user.record.toAsk) await deps.departures.settle(user);
    return { of: 'nothing' };
  };
}

/** The tokens of sessions and of the open question, that of the newest sign-in first. */
function candidatesOf({ user: { record }, sessions }: Person): readonly Candidate[] {
  const { toAsk } = record;
  const all = [
    ...sessions.map((one) => ({ sessionId: one.id, identity: one.record.identity, since: signedInAt(one) })),
    ...(toAsk ? [{ ...toAsk, since: toAsk.signedInAt ?? 0 }] : []),
  ];
  const own = all.flatMap(({ sessionId, identity, since }) =>
    identity && hasIdentity(record, identity) ? [{ sessionId, identity, since }] : [],
  );
  return own.sort((a, b) => b.since - a.since);
}

async function outcomeOf(
  deps: Remembering,
  person: Person,
  candidate: Candidate,
  origin: Origin,
  asked: number,
): Promise<Outcome> {
  const claimed = await claim(deps, candidate);
  if (typeof claimed === 'string') return claimed;
  const outcome = await answered(deps, person, candidate, { claimed, origin, asked }).catch((error: unknown) => {
    deps.metrics.tokenAsked('unavailable');
    throw error;
  });
  deps.metrics.tokenAsked(outcome);
  return outcome;
}

/** @throws StoreUnavailable */
async function claim(
  { refreshTokens, clock, clientId, log }: AskDeps,
  { sessionId }: Candidate,
): Promise<ClaimedToken | 'none' | 'busy'> {
  try {
    return await refreshTokens.claim(sessionId, clock.now(), clientId);
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    log.warn({ err: error }, 'a refresh token is damaged and counts as none');
    return 'none';
  }
}

type Answered = Exclude<Outcome, 'busy'>;

async function answered(
  deps: Remembering,
  person: Person,
  candidate: Candidate,
  { claimed, origin, asked }: { readonly claimed: ClaimedToken; readonly origin: Origin; readonly asked: number },
): Promise<Answered> {
  const { client, clock, log } = deps;
  const { identity } = candidate;
  const userId = person.user.id;
  try {
    const answer = await client.renew(claimed.token, identity);
    if (answer === 'foreign') {
      log.info({ userId }, 'the roles of a user could not be renewed: another provider gave the token');
      await claimed.release();
      return 'none';
    }
    if (answer.refreshToken) await claimed.replace(answer.refreshToken);
    const mapped = mappedRoles(answer.claims[deps.groupsClaim], deps.groups(), { at: clock.now(), asked });
    if (typeof mapped === 'string') {
      log.info({ userId, reason: mapped }, 'the groups of a user cannot be taken');
      return 'there';
    }
    await deps.providerUsers.renew(origin, userId, { identity, mapped });
    return 'renewed';
  } catch (error) {
    if (!(error instanceof ProviderFault)) throw error;
    if (error.isFinal) return await refusedBy(deps, person, candidate, { claimed, origin });
    if (error.isUnspent) await claimed.release();
    if (error.reason === 'unavailable') throw error;
    log.info({ err: error, userId }, 'the roles of a user could not be renewed');
    return error.isOfClient ? 'waits' : oddAgain(deps, candidate);
  }
}

function oddAgain({ odd }: Remembering, { sessionId }: Candidate): 'odd' | 'none' {
  const times = (odd.get(sessionId) ?? 0) + 1;
  odd.set(sessionId, times);
  return times < ODD_MAX ? 'odd' : 'none';
}

/**
 * Judges the refusal of a refresh token. One of offline access outlives the session at the provider (OpenID Connect
 * Back-Channel Logout 1.0, 2.7), so that its refusal is of the person. Any other one ends with that session. A token
 * that may be spent says nothing of the person.
 */
async function refusedBy(
  deps: Remembering,
  person: Person,
  { sessionId }: Candidate,
  { claimed, origin }: { readonly claimed: ClaimedToken; readonly origin: Origin },
): Promise<Answered> {
  const isSure = !claimed.isPerhapsSpent || deps.heard.has(sessionId);
  deps.log.info({ userId: person.user.id, isSure, isOffline: claimed.isOffline }, 'the provider refuses a token');
  if (claimed.isOffline && isSure) {
    deps.heard.set(sessionId, true);
    // A refusal uses nothing up: it is heard again where what follows from it could not be committed.
    await claimed.release();
    return 'refused';
  }
  await claimed.drop();
  if (!claimed.isOffline) await ended(deps, person, sessionId, origin);
  return 'spent';
}

async function ended(deps: AskDeps, { user }: Person, sessionId: string, origin: Origin): Promise<void> {
  await deps.sessions.end(origin, user.id, sessionId).catch((error: unknown) => {
    // It has ended already, or another replica was faster.
    if (!(error instanceof Refusal)) throw error;
  });
}
