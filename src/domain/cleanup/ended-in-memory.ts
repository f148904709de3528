import { expectUnchanged, type Snapshot, type Write } from '../../store/port.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { EXPIRY_MARGIN_MS, type Sweep, type SweepDeps } from './sweep.ts';

/** A record may be removed with another one, and a commit has at most 127 operations. */
const REMOVED_PER_COMMIT_MAX = 50;
const REMOVED_PER_PIECE_MAX = 500;

/** A record of memory whose time ends. */
interface Ending extends Snapshot {
  readonly record: { readonly expiresAt: number };
}

/**
 * A sweep over records of users that memory holds, with their time. Each commit expects them as memory has them. The
 * commits are not quiet: such records are in the watch cache.
 * @param allOf the records of the kind that a user has
 * @param removal the writes by which one goes
 */
export function endedInMemory<One extends Ending>(
  allOf: (memory: FleetMemory, userId: string) => readonly One[],
  removal: (one: One) => readonly Write[],
): Sweep {
  async function remove({ store, fence }: SweepDeps, some: readonly One[]): Promise<number> {
    const [first, ...others] = some.map(expectUnchanged);
    if (!first) return 0;
    const { outcome } = await store.commit({ expect: [first, ...others, ...fence], write: some.flatMap(removal) });
    return outcome === 'committed' ? some.length : 0;
  }
  function endedBefore(memory: FleetMemory, now: number): readonly One[] {
    const ended: One[] = [];
    for (const { id } of memory.users()) {
      for (const one of allOf(memory, id)) {
        if (one.record.expiresAt <= now) ended.push(one);
        if (ended.length === REMOVED_PER_PIECE_MAX) return ended;
      }
    }
    return ended;
  }
  return async (deps, _from, signal) => {
    const ended = endedBefore(deps.memory, deps.clock.now() - EXPIRY_MARGIN_MS);
    let gone = 0;
    for (let start = 0; start < ended.length && !signal.aborted; start += REMOVED_PER_COMMIT_MAX) {
      gone += await remove(deps, ended.slice(start, start + REMOVED_PER_COMMIT_MAX));
    }
    // The records of this piece are not found again. A piece that removed nothing ends the pass.
    return { gone, next: ended.length === REMOVED_PER_PIECE_MAX && gone > 0 ? '' : undefined };
  };
}
