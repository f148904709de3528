import { expectUnchanged } from '../../store/port.ts';
import { EXPIRY_MARGIN_MS, type Sweep, type SweepDeps } from '../cleanup/sweep.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import type { SessionEntry } from '../fleet/reader.ts';
import { KEYS } from '../records/keys.ts';

/** A session is removed with its refresh token, and a commit has at most 127 operations. */
const SESSIONS_PER_COMMIT_MAX = 50;
const SESSIONS_PER_PIECE_MAX = 500;

/**
 * Removes sessions whose time is over; nobody is let in by one before either. They are found in memory, and each commit
 * expects them as memory has them. The commits are not quiet: sessions are in the watch cache.
 */
export const removeEndedSessions: Sweep = async (deps, _from, signal) => {
  const ended = endedBefore(deps.memory, deps.clock.now() - EXPIRY_MARGIN_MS);
  let gone = 0;
  for (let start = 0; start < ended.length && !signal.aborted; start += SESSIONS_PER_COMMIT_MAX) {
    gone += await remove(deps, ended.slice(start, start + SESSIONS_PER_COMMIT_MAX));
  }
  // The sessions of this piece are not found again. A piece that removed nothing ends the pass.
  return { gone, next: ended.length === SESSIONS_PER_PIECE_MAX && gone > 0 ? '' : undefined };
};

async function remove({ store, fence }: SweepDeps, sessions: readonly SessionEntry[]): Promise<number> {
  const [first, ...others] = sessions.map(expectUnchanged);
  if (!first) return 0;
  const { outcome } = await store.commit({
    expect: [first, ...others, ...fence],
    write: sessions.flatMap(({ id }) => [{ remove: KEYS.session(id) }, { remove: KEYS.refresh(id) }]),
  });
  return outcome === 'committed' ? sessions.length : 0;
}

function endedBefore(memory: FleetMemory, now: number): readonly SessionEntry[] {
  const ended: SessionEntry[] = [];
  for (const { id } of memory.users()) {
    for (const session of memory.sessionsOf(id)) {
      if (session.record.expiresAt <= now) ended.push(session);
      if (ended.length === SESSIONS_PER_PIECE_MAX) return ended;
    }
  }
  return ended;
}
