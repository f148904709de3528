import {
  absentSnapshot,
  committedSnapshot,
  expectAsFound,
  type Expectation,
  type Snapshot,
  type Store,
} from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { CompactionRecord } from '../records/store-records.ts';

/**
 * A compaction affects every user of an etcd, and every listing and watch under way, so it is not done more often than
 * this; a secret that is purged right after a compaction is still gone within a minute (O10).
 */
const COMPACT_EVERY_MS = 50_000;
/**
 * The embedded store has one user, and builds its file anew in a time that grows with the file. It rests this many
 * times as long, at most `COMPACT_EVERY_MS`: a store of usual size forgets a second purge in the next round.
 */
const EMBEDDED_REST = 19;
/** Without a purge, this much of the history is kept at least, for watches that resume and listings of a revision. */
const HISTORY_KEPT_MS = 300_000;

/** A compaction that is due. */
interface DueCompaction {
  /** The revision to compact to; undefined where the current one is only recorded, for the compaction after it. */
  readonly to: number | undefined;
}

/** Decides when to compact, in one term of a leader. A record tells the next leader of the last compaction. */
export interface CompactionSchedule {
  /**
   * Tells whether a compaction is due.
   * @param purged whether something was purged at or before the revision `now`
   * @param now a revision of the store that was read just before, or an older one where that is pinned
   *   (revision-pins.ts)
   * @throws StoreUnavailable; BadRecord
   */
  due(purged: boolean, now: number): Promise<DueCompaction | undefined>;
  /**
   * Records a compaction, after it. A leader that dies in between leaves the purge to the next one, which compacts at
   * once, as it cannot know that this was done.
   * @throws StoreUnavailable
   */
  done(now: number): Promise<void>;
}

interface Seen {
  readonly read: Snapshot;
  readonly since: number;
}

/** On the embedded store only a purge makes a compaction due: its history is bounded, and in memory. */
export function createCompactionSchedule(
  store: Store,
  clock: Clock,
  fence: readonly Expectation[],
): CompactionSchedule {
  let seen: Seen | undefined;
  /** When this leader last compacted, also where the record could not be written. */
  let compactedAt = Number.NEGATIVE_INFINITY;
  let pauseMs = store.backend === 'etcd' ? COMPACT_EVERY_MS : 0;
  let dueAt = 0;

  async function readLast(): Promise<Versioned<CompactionRecord> | undefined> {
    const entry = await store.get(KEYS.compaction());
    const last = entry && parseRecord(KEYS.compaction, entry);
    const read = last ?? absentSnapshot(KEYS.compaction());
    if (seen?.read.revision !== read.revision) seen = { read, since: clock.monotonic() };
    return last;
  }

  function isDue(last: Versioned<CompactionRecord> | undefined, purged: boolean): boolean {
    const now = clock.monotonic();
    if (now - compactedAt < pauseMs) return false;
    const periodic = store.backend === 'etcd';
    if (!last) return purged || periodic;
    const seenForMs = now - (seen?.since ?? now);
    // The clock of the former leader may be wrong: ahead, it must not delay a purge; behind, it must not cost history.
    if (purged) return Math.max(seenForMs, clock.now() - last.record.at) >= pauseMs;
    return periodic && seenForMs >= HISTORY_KEPT_MS;
  }

  return {
    async due(purged, now) {
      const last = await readLast();
      if (!isDue(last, purged)) return undefined;
      dueAt = clock.monotonic();
      return { to: purged ? now : last && Math.min(last.record.revision, now) };
    },
    async done(now) {
      compactedAt = clock.monotonic();
      if (store.backend !== 'etcd') pauseMs = Math.min(COMPACT_EVERY_MS, EMBEDDED_REST * (compactedAt - dueAt));
      const result = await store.commit({
        expect: [expectAsFound(KEYS.compaction(), seen?.read), ...fence],
        write: [put(KEYS.compaction(), { at: clock.now(), revision: now })],
        quiet: true,
      });
      // A conflict is a compaction of another leader: the next call sees it.
      if (result.outcome === 'committed')
        seen = { read: committedSnapshot(KEYS.compaction(), result), since: compactedAt };
    },
  };
}
