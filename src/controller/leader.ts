import { KEYS } from '../domain/records/keys.ts';
import type { Registration, Replicas } from '../domain/replicas/replicas.ts';
import type { Log } from '../log.ts';
import { expectHeld, type Expectation, type Held, type Store } from '../store/port.ts';
import type { Clock } from '../time/clock.ts';
import { Failures } from './loop.ts';
import type { LeaderMetrics } from './metrics.ts';

/**
 * The term of a leader. The controller that holds the key `leader` leads. Every write of its loops expects that key at
 * the revision of its term, so that a leader that was paused or cut off cannot write once another one may lead: the
 * lease's expiry removes the key in the store itself, whatever the former leader believes.
 */
export interface Term {
  /** The expectations that every commit of the term has to add; empty only where election is switched off. */
  readonly fence: readonly Expectation[];
  /**
   * Aborts when the term ends: the process stops, another controller may hold the key, or this replica has lost its
   * place on the registry, where the others count it.
   */
  readonly signal: AbortSignal;
}

/** The store, clock and names by which a replica leads. */
interface LeaderDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: LeaderMetrics;
  /** Names the replica in the record and the log. */
  readonly replicaId: string;
  /** A replica that is not on the registry takes no leadership, and gives up the one that it has. */
  readonly replicas: Pick<Replicas, 'registration'>;
}

/** The time to live of the lease (ADR 0014: with 10 s a handover through a restart of an etcd member took 19 s). */
const TTL_MS = 7000;
/** While another controller leads, one small read each second: a leader that stops is followed within that time. */
const CHECK_EVERY_MS = 1000;

/**
 * Runs the work of each term that this replica gets, until the signal aborts. The work must end when the signal of its
 * term aborts. An outage of the store is logged, and the attempt is repeated.
 * @throws the error of the work, after the key was released
 */
export async function lead(deps: LeaderDeps, work: (term: Term) => Promise<void>, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  const failures = new Failures(clock);
  while (!signal.aborted) {
    const leadership = await tryToLead(deps, failures);
    if (leadership) await serve(deps, leadership, work, signal);
    if (!signal.aborted) await clock.sleep(CHECK_EVERY_MS, signal);
  }
  log.debug({}, 'the controller has stopped');
}

/** The key that a replica holds, and its place on the registry, by which it leads. */
interface Leadership {
  readonly held: Held;
  readonly registration: Registration;
}

async function tryToLead(deps: LeaderDeps, failures: Failures): Promise<Leadership | undefined> {
  try {
    const leadership = await holdLeadership(deps);
    deps.metrics.leaderKnown(leadership !== undefined);
    failures.over();
    return leadership === 'taken' ? undefined : leadership;
  } catch (error) {
    deps.metrics.leaderKnown(false);
    if (failures.isNew(error)) deps.log.info({ err: error }, 'cannot check whether another controller leads');
    return undefined;
  }
}

/** @returns undefined where nobody is known to lead, and this replica must not */
async function holdLeadership({
  store,
  clock,
  replicaId,
  replicas,
}: LeaderDeps): Promise<Leadership | 'taken' | undefined> {
  // The read comes first: an attempt costs a lease, and is made every second.
  if (store.backend === 'etcd' && (await store.get(KEYS.leader()))) return 'taken';
  const registration = replicas.registration();
  if (registration === undefined) return undefined;
  const record = KEYS.leader.schema.parse({ replicaId, since: clock.now() });
  const held = await store.hold(KEYS.leader(), JSON.stringify(record), TTL_MS);
  return held === 'taken' ? held : { held, registration };
}

async function serve(
  { log, metrics }: LeaderDeps,
  { held, registration }: Leadership,
  work: (term: Term) => Promise<void>,
  stopping: AbortSignal,
): Promise<void> {
  const fence = [expectHeld(KEYS.leader(), held)];
  const term = held.revision;
  log.info({ term }, 'this controller leads');
  metrics.leads(true);
  try {
    await work({ fence, signal: AbortSignal.any([stopping, held.lost, registration.lost]) });
  } finally {
    metrics.leads(false);
    metrics.leaderKnown(false);
    metrics.termEnded(held.lost.aborted || registration.lost.aborted ? 'lost' : 'stopped');
    if (held.lost.aborted) log.warn({ term }, 'the leadership was lost');
    else if (registration.lost.aborted) log.warn({ term }, 'the leadership ends: this replica is not on the registry');
    await held.release();
  }
}
