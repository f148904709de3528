import type { FleetMemory } from '../domain/fleet/memory.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Origin } from '../domain/mutation/step.ts';
import { signedInAt, type ProviderDepartures } from '../domain/users/provider/provider-departures.ts';
import { RecentMap } from '../packed/recent-map.ts';
import { StoreUnavailable } from '../store/port.ts';
import { createAskProvider, type AskDeps, type AskProvider, type Person, type Verdict } from './ask-provider.ts';
import { ProviderFault } from './provider-fault.ts';

interface RenewRolesDeps extends AskDeps {
  readonly departures: ProviderDepartures;
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
/** Calls of the provider at once. */
const TOGETHER_MAX = 8;
/**
 * So many people do not leave at once: a provider that was set up anew, or has forgotten the grants of this client,
 * refuses them all.
 */
const TOGETHER_REFUSED_MIN = 5;
const REQUEST_ID = 'mapped-roles';

const MANY_REFUSED =
  'the provider refuses many people at once, as one does that was set up anew: their sessions have ended, and their ' +
  'API keys stay; look at them by `muster users list` (docs/RUNBOOK.md, MusterProviderRefusesMany)';

interface Due extends Person {
  /** How old the roles are; 0 where no session has them. */
  readonly ageMs: number;
  /** The roles are old, or a question is open for long enough. */
  readonly isDue: boolean;
}

type Refused = Extract<Verdict, { readonly of: 'refused' }>;

interface RoundDeps extends RenewRolesDeps {
  readonly ask: AskProvider;
  /** When each user was asked about last: whoever waits longest is next, also where others always fail. */
  readonly tried: RecentMap<string, number>;
}

/**
 * One round: the roles that groups give are computed anew with refresh tokens, and open questions are asked. Where that
 * was not possible for an hour, the sessions that began at the provider go, and a question stays open. Every replica
 * runs it; a token is claimed, since it may be good once.
 * @throws ProviderFault `unavailable` where the provider does not answer, StoreUnavailable: the round ends, and is
 * repeated
 */
export function createRenewRoles(parts: RenewRolesDeps): (signal: AbortSignal) => Promise<void> {
  const deps: RoundDeps = { ...parts, ask: createAskProvider(parts), tried: new RecentMap(LIMITS.usersMax) };
  return async (signal) => {
    const people = peopleOf(await deps.fleet.whole(), deps.clock.now());
    for (const { user, sessions } of people.filter(({ ageMs }) => ageMs > REMOVED_MS)) {
      const ids = new Set(sessions.map(({ id }) => id));
      await tolerant(deps, user.id, () => deps.departures.endSessions(originOf(deps), user.id, ids));
    }
    const able = people.filter(({ ageMs }) => ageMs <= REMOVED_MS);
    const due = able.filter(({ isDue }) => isDue).sort((a, b) => lastTried(deps, a) - lastTried(deps, b));
    const { verdicts, fault } = await askedAbout(deps, due.slice(0, USERS_A_ROUND_MAX), signal);
    const others = able.filter(({ isDue, user }) => !isDue && !user.record.toAsk);
    await conclude(deps, verdicts, others, signal);
    if (fault !== undefined) throw fault;
  };
}

const lastTried = ({ tried }: RoundDeps, { user }: Person): number => tried.get(user.id) ?? 0;

/** The people who have sessions of the provider or about whom a question is open, the oldest roles first. */
function peopleOf(memory: FleetMemory, now: number): readonly Due[] {
  const people: Due[] = [];
  for (const user of memory.users()) {
    const { mapped, toAsk } = user.record;
    const sessions = memory.sessionsOf(user.id).filter(({ record }) => record.method === 'provider');
    if (sessions.length === 0 && !toAsk) continue;
    const since = mapped?.at ?? Math.max(...sessions.map(({ record }) => record.createdAt));
    const ageMs = sessions.length > 0 ? now - since : 0;
    const isDue = ageMs > RENEWED_MS || (toAsk !== undefined && now - toAsk.at >= QUESTION_WAITS_MS);
    people.push({ user, sessions, ageMs, isDue });
  }
  return people.sort((a, b) => b.ageMs - a.ageMs);
}

const originOf = ({ clock }: AskDeps): Origin => ({
  actor: 'muster',
  requestId: REQUEST_ID,
  at: clock.now(),
  deadline: clock.monotonic() + LIMITS.requestDeadlineMs,
});

/** The provider or the store is away, which another person would meet as well. */
const isOutage = (error: unknown): boolean => error instanceof ProviderFault || error instanceof StoreUnavailable;

/** Does work for one person, whose fault stops nobody else. @throws an outage */
async function tolerant<T>({ log }: AskDeps, userId: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isOutage(error)) throw error;
    log.warn({ err: error, userId }, 'the roles of a user cannot be renewed now');
    return undefined;
  }
}

interface Asked {
  readonly verdicts: readonly Verdict[];
  /** The outage by which the others are not asked about. */
  readonly fault: unknown;
}

/** Asks about people, a few at a time. Where all of these meet an outage, the others would. */
async function askedAbout(deps: RoundDeps, people: readonly Person[], signal: AbortSignal): Promise<Asked> {
  const verdicts: Verdict[] = [];
  for (let start = 0; start < people.length && !signal.aborted; start += TOGETHER_MAX) {
    const some = people.slice(start, start + TOGETHER_MAX);
    const results = await Promise.allSettled(
      some.map(async (person) => {
        deps.tried.set(person.user.id, deps.clock.monotonic());
        return await tolerant(deps, person.user.id, () => deps.ask(person, originOf(deps)));
      }),
    );
    const faults = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (faults.length === some.length) return { verdicts, fault: faults[0] };
    for (const result of results) if (result.status === 'fulfilled' && result.value) verdicts.push(result.value);
  }
  return { verdicts, fault: undefined };
}

const refusedIn = (verdicts: readonly Verdict[]): readonly Refused[] => verdicts.filter((one) => one.of === 'refused');

/** Whether the provider renews for somebody who signed in no later than those whom it refuses: it knows its grants. */
function isProven(verdicts: readonly Verdict[]): boolean {
  const newest = Math.max(...refusedIn(verdicts).map(({ since }) => since));
  return verdicts.some((one) => one.of === 'renewed' && one.since <= newest);
}

/**
 * Draws the conclusions from what the provider says of a round's people. Where it refuses somebody and renews nobody,
 * a few others are asked about before their time: those who signed in first.
 */
async function conclude(
  deps: RoundDeps,
  first: readonly Verdict[],
  others: readonly Person[],
  signal: AbortSignal,
): Promise<void> {
  if (refusedIn(first).length === 0) return;
  const byAge = [...others].sort((a, b) => oldestSignIn(a) - oldestSignIn(b));
  const witnesses = isProven(first) ? [] : byAge.slice(0, TOGETHER_MAX);
  const heard = await askedAbout(deps, witnesses, signal);
  const verdicts = [...first, ...heard.verdicts];
  const refused = refusedIn(verdicts);
  const isUnproven = !isProven(verdicts);
  const isMany = isUnproven && refused.length >= TOGETHER_REFUSED_MIN;
  // Another replica asks about the others at this moment, or the provider has gone: the next round knows more.
  const busy = verdicts.filter(({ of }) => of === 'busy').length;
  const isOpen = heard.fault !== undefined || refused.length + busy >= TOGETHER_REFUSED_MIN;
  if (isUnproven && !isMany && isOpen) return;
  const known = sinceRefusedTogether(await deps.fleet.whole()) ?? 0;
  const now = isMany ? deps.clock.now() : undefined;
  const concludeAll = async (all: readonly Refused[]): Promise<void> => {
    for (const one of all) await concluded(deps, one, one.since < known ? known : now);
  };
  if (isMany) deps.log.error({ people: refused.length }, MANY_REFUSED);
  await concludeAll(refused);
  // The others have the same to expect, and must not come one by one, when nobody is left beside them.
  const rest = isMany ? byAge.filter((person) => !witnesses.includes(person)) : [];
  await concludeAll(refusedIn((await askedAbout(deps, rest, signal)).verdicts));
}

const oldestSignIn = ({ sessions }: Person): number => Math.min(...sessions.map(signedInAt));

/** When the provider last refused many people at once, whom nobody has looked at since; undefined where it has not. */
function sinceRefusedTogether(memory: FleetMemory): number | undefined {
  let since: number | undefined;
  for (const { record } of memory.users()) {
    const { refusedWithOthersAt: at } = record;
    if (at !== undefined) since = Math.max(since ?? 0, at);
  }
  return since;
}

/** @param togetherAt when the provider began to refuse many; undefined where the person has left */
async function concluded(deps: RoundDeps, { person, refusal }: Refused, togetherAt: number | undefined): Promise<void> {
  const userId = person.user.id;
  await tolerant(deps, userId, async () => {
    if (togetherAt === undefined) {
      deps.log.info({ userId }, 'the provider refuses a user, whose sessions and rights by groups end');
      await deps.departures.refused(originOf(deps), userId, refusal);
    } else await deps.departures.refusedWithOthers(originOf(deps), userId, refusal, togetherAt);
    deps.metrics.userRefused(togetherAt === undefined ? 'ended' : 'kept');
  });
}
