import { expectAbsent, expectUnchanged, type Expectation, type Snapshot, type Write } from '../../store/port.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { KEYS } from '../records/keys.ts';
import { EXPIRY_MARGIN_MS, type Sweep, type SweepDeps } from './sweep.ts';

/** A record may be removed with another one, and a commit has at most 127 operations. */
const REMOVED_PER_COMMIT_MAX = 50;
const REMOVED_PER_PIECE_MAX = 500;

/** A record of memory whose time ends. */
interface Ending extends Snapshot {
  readonly record: { readonly userId: string; readonly expiresAt: number };
}

/**
 * A sweep over records of users that memory holds, whose time is over, or whose user is gone: an earlier version that
 * does not know of the kind leaves them. Each commit expects them as memory has them, and that no such user is in the
 * store, since memory may be behind. The commits are not quiet: such records are in the watch cache.
 * @param all the records of the kind
 * @param removal the writes by which one goes
 */
export function endedInMemory<One extends Ending>(
  all: (memory: FleetMemory) => Iterable<One>,
  removal: (one: One) => readonly Write[],
): Sweep {
  async function remove(
    { store, fence }: SweepDeps,
    some: readonly One[],
    ...more: readonly Expectation[]
  ): Promise<number> {
    const [first, ...others] = some.map(expectUnchanged);
    if (!first) return 0;
    const expect = [first, ...others, ...more, ...fence] as const;
    const { outcome } = await store.commit({ expect, write: some.flatMap(removal) });
    return outcome === 'committed' ? some.length : 0;
  }
  function found(memory: FleetMemory, now: number): { readonly ended: readonly One[]; readonly left: readonly One[] } {
    const [ended, left]: [One[], One[]] = [[], []];
    for (const one of all(memory)) {
      if (one.record.expiresAt <= now) ended.push(one);
      else if (!memory.user(one.record.userId)) left.push(one);
      if (ended.length + left.length === REMOVED_PER_PIECE_MAX) break;
    }
    return { ended, left };
  }
  return async (deps, _from, signal) => {
    const { ended, left } = found(deps.memory, deps.clock.now() - EXPIRY_MARGIN_MS);
    let gone = 0;
    for (let start = 0; start < ended.length && !signal.aborted; start += REMOVED_PER_COMMIT_MAX) {
      gone += await remove(deps, ended.slice(start, start + REMOVED_PER_COMMIT_MAX));
    }
    // Each is a commit of its own: one whose user is there after all, with a damaged record, holds up no other.
    for (const one of left) {
      if (signal.aborted) break;
      gone += await remove(deps, [one], expectAbsent(KEYS.user(one.record.userId)));
    }
    // The records of this piece are not found again. A piece that removed nothing ends the pass.
    return { gone, next: ended.length + left.length === REMOVED_PER_PIECE_MAX && gone > 0 ? '' : undefined };
  };
}
