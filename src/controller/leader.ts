import { KEYS } from '../domain/records/keys.ts';
import { leaderSchema } from '../domain/records/records.ts';
import type { Log } from '../log.ts';
import type { Expectation, Held, Store } from '../store/port.ts';
import type { Clock } from '../time/clock.ts';
import type { LeaderMetrics } from './metrics.ts';

/**
 * One controller leads: the one that holds the key `leader`. Every write of its loops expects that key at the revision
 * of its term, so that a leader that was paused or cut off cannot write once another may lead (the lease's expiry
 * removes the key in the store itself, whatever the old leader believes).
 */
export interface Term {
  /** What every commit of the term expects besides; empty only where election is switched off. */
  readonly fence: readonly Expectation[];
  /** Aborts when the term ends: the process stops, or the key may be another's. */
  readonly signal: AbortSignal;
}

export interface LeaderDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: LeaderMetrics;
  /** Names the replica in the record and the log. */
  readonly replicaId: string;
}

/** The time to live of the lease (ADR 0014: with 10 s a handover through a restart of an etcd member took 19 s). */
const TTL_MS = 7000;
/** One small read each second while another leads: a leader that stops is followed within it. */
const LOOK_EVERY_MS = 1000;

/** Runs the work of each term that this replica gets, until the signal aborts. The work ends when its term does. */
export async function lead(deps: LeaderDeps, work: (term: Term) => Promise<void>, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  while (!signal.aborted) {
    const held = await tryToLead(deps);
    if (held) await serve(deps, held, work, signal);
    if (!signal.aborted) await clock.sleep(LOOK_EVERY_MS, signal);
  }
  log.debug({}, 'the controller has stopped');
}

async function tryToLead({ store, clock, log, replicaId }: LeaderDeps): Promise<Held | undefined> {
  try {
    // Looked at first: a try costs a lease, and is made every second.
    if (store.backend === 'etcd' && (await store.get(KEYS.leader))) return undefined;
    const record = leaderSchema.parse({ replicaId, since: clock.now() });
    const held = await store.hold(KEYS.leader, JSON.stringify(record), TTL_MS);
    return held === 'taken' ? undefined : held;
  } catch (error) {
    log.info({ err: error }, 'whether another controller leads cannot be told now');
    return undefined;
  }
}

async function serve(
  { log, metrics, replicaId }: LeaderDeps,
  held: Held,
  work: (term: Term) => Promise<void>,
  stopping: AbortSignal,
): Promise<void> {
  const fence = [{ key: KEYS.leader, revision: held.revision }];
  log.info({ replicaId, term: held.revision }, 'this controller leads');
  metrics.leads(true);
  try {
    await work({ fence, signal: AbortSignal.any([stopping, held.lost]) });
  } finally {
    metrics.leads(false);
    metrics.termEnded(held.lost.aborted ? 'lost' : 'stopped');
    if (held.lost.aborted) log.warn({ replicaId, term: held.revision }, 'the leadership was lost');
    await held.release();
  }
}
