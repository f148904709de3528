import type { Clock } from '../clock.ts';
import { ABSENT, type Store } from '../store/port.ts';
import { compactionSchema, KEYS, parseRecord, put, type CompactionRecord, type Versioned } from './records.ts';

/**
 * Compaction meets every user of an etcd, and every listing and watch under way: all replicas together do it not more
 * often than this, and soon enough for what was purged right after a turn to be gone within a minute (O10).
 */
const TURN_EVERY_MS = 50_000;
/** Without a purge: so much of the history, at least, stays for watches that resume and listings of a revision. */
const KEPT_MS = 300_000;

/** Whose turn it is to compact. One of these per replica; they meet in one record of the store. */
export interface CompactionTurns {
  /**
   * Claims the turn, if it is due.
   * @param purged whether something was purged by `now`, a revision of the store that was read just before
   * @returns the revision to compact to, or undefined where there is nothing to do now
   * @throws StoreUnavailable; the claim, if it was made, is then still this replica's
   */
  claim(purged: boolean, now: number): Promise<number | undefined>;
  /** The compaction was done; until then the turn stays claimed. */
  done(): void;
}

interface Seen {
  readonly revision: number;
  readonly since: number;
}

interface Owed {
  readonly record: CompactionRecord;
  readonly to: number | undefined;
}

/** On the embedded store only purges are worth a turn: its history is bounded, and in memory. */
export function createCompactionTurns(store: Store, clock: Clock): CompactionTurns {
  let seen: Seen | undefined;
  let owed: Owed | undefined;

  async function lastTurn(): Promise<Versioned<CompactionRecord> | undefined> {
    const entry = await store.get(KEYS.compaction);
    const last = entry && parseRecord(compactionSchema, entry);
    const revision = last?.revision ?? ABSENT;
    if (seen?.revision !== revision) seen = { revision, since: clock.monotonic() };
    return last;
  }

  function isDue(last: Versioned<CompactionRecord> | undefined, purged: boolean): boolean {
    const periodic = store.backend === 'etcd';
    if (!last) return purged || periodic;
    const seenForMs = clock.monotonic() - (seen?.since ?? clock.monotonic());
    // The other replica's clock may be wrong: ahead, it must not hold up a purge; behind, it must not cost history.
    if (purged) return Math.max(seenForMs, clock.now() - last.record.at) >= TURN_EVERY_MS;
    return periodic && seenForMs >= KEPT_MS;
  }

  return {
    async claim(purged, now) {
      const last = await lastTurn();
      // Claimed before, and then the store was in trouble; whether that was before or after the claim shows here.
      if (owed && last && isSame(last.record, owed.record)) return purged ? now : owed.to;
      owed = undefined;
      if (!isDue(last, purged)) return undefined;
      const record = { at: clock.now(), revision: now };
      const to = purged ? now : last && Math.min(last.record.revision, now);
      owed = { record, to };
      const result = await store.commit({
        expect: [{ key: KEYS.compaction, revision: last?.revision ?? ABSENT }],
        write: [put(KEYS.compaction, record)],
        quiet: true,
      });
      if (result.outcome === 'conflict') {
        owed = undefined;
        return undefined;
      }
      seen = { revision: result.revision, since: clock.monotonic() };
      return to;
    },
    done() {
      owed = undefined;
    },
  };
}

const isSame = (one: CompactionRecord, other: CompactionRecord): boolean =>
  one.at === other.at && one.revision === other.revision;
