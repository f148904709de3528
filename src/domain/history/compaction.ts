import { ABSENT, type Expectation, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { compactionSchema, type CompactionRecord } from '../records/records.ts';

/**
 * Compaction meets every user of an etcd, and every listing and watch under way: it is done not more often than this,
 * and soon enough for what was purged right after a turn to be gone within a minute (O10).
 */
const TURN_EVERY_MS = 50_000;
/** Without a purge: so much of the history, at least, stays for watches that resume and listings of a revision. */
const KEPT_MS = 300_000;

/** A turn that is due: what to compact to, or undefined where the revision is only noted, for the turn after it. */
export interface Turn {
  readonly to: number | undefined;
}

/** When to compact. One of these for each term of a leader; one record tells the next leader of the last turn. */
export interface CompactionTurns {
  /**
   * @param purged whether something was purged by `now`
   * @param now a revision of the store that was read just before, or an older one where that is pinned (revision-pins.ts)
   * @throws StoreUnavailable
   */
  due(purged: boolean, now: number): Promise<Turn | undefined>;
  /**
   * The turn was taken. Told after the compaction: a leader that dies in between leaves a purge to the next one, which
   * does at once what it cannot know to be done.
   * @throws StoreUnavailable
   */
  done(now: number): Promise<void>;
}

interface Seen {
  readonly revision: number;
  readonly since: number;
}

/** On the embedded store only purges are worth a turn: its history is bounded, and in memory. */
export function createCompactionTurns(store: Store, clock: Clock, fence: readonly Expectation[]): CompactionTurns {
  let seen: Seen | undefined;
  /** Also where the record could not be written. */
  let takenAt = Number.NEGATIVE_INFINITY;

  async function lastTurn(): Promise<Versioned<CompactionRecord> | undefined> {
    const entry = await store.get(KEYS.compaction);
    const last = entry && parseRecord(compactionSchema, entry);
    const revision = last?.revision ?? ABSENT;
    if (seen?.revision !== revision) seen = { revision, since: clock.monotonic() };
    return last;
  }

  function isDue(last: Versioned<CompactionRecord> | undefined, purged: boolean): boolean {
    const now = clock.monotonic();
    if (now - takenAt < TURN_EVERY_MS) return false;
    const periodic = store.backend === 'etcd';
    if (!last) return purged || periodic;
    const seenForMs = now - (seen?.since ?? now);
    // The clock of the leader before may be wrong: ahead, it must not hold up a purge; behind, it must not cost history.
    if (purged) return Math.max(seenForMs, clock.now() - last.record.at) >= TURN_EVERY_MS;
    return periodic && seenForMs >= KEPT_MS;
  }

  return {
    async due(purged, now) {
      const last = await lastTurn();
      if (!isDue(last, purged)) return undefined;
      return { to: purged ? now : last && Math.min(last.record.revision, now) };
    },
    async done(now) {
      takenAt = clock.monotonic();
      const result = await store.commit({
        expect: [{ key: KEYS.compaction, revision: seen?.revision ?? ABSENT }, ...fence],
        write: [put(KEYS.compaction, { at: clock.now(), revision: now })],
        quiet: true,
      });
      // A conflict is another leader's turn: it is seen at the next look.
      if (result.outcome === 'committed') seen = { revision: result.revision, since: takenAt };
    },
  };
}
