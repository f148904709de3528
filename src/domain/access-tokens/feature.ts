import { expectUnchanged } from '../../store/port.ts';
import { EXPIRY_MARGIN_MS, type Sweep } from '../cleanup/sweep.ts';
import type { AccessTokenEntry } from '../fleet/reader.ts';
import type { FleetMemory } from '../fleet/memory.ts';

const REMOVED_PER_PIECE_MAX = 50;

/**
 * Removes tokens whose time is over; nobody is let in by one before either. They are found in memory, and a commit
 * expects them as memory has them. The commits are not quiet: tokens are in the watch cache.
 */
const removeEndedTokens: Sweep = async ({ store, memory, clock, fence }) => {
  const [first, ...others] = endedBefore(memory, clock.now() - EXPIRY_MARGIN_MS);
  if (!first) return { gone: 0, next: undefined };
  const ended = [first, ...others];
  const { outcome } = await store.commit({
    expect: [expectUnchanged(first), ...others.map(expectUnchanged), ...fence],
    write: ended.map(({ key }) => ({ remove: key })),
  });
  const gone = outcome === 'committed' ? ended.length : 0;
  // The tokens of this piece are not found again. A piece that removed nothing ends the pass.
  return { gone, next: gone === REMOVED_PER_PIECE_MAX ? '' : undefined };
};

function endedBefore(memory: FleetMemory, now: number): readonly AccessTokenEntry[] {
  const ended: AccessTokenEntry[] = [];
  for (const token of memory.accessTokens()) {
    if (token.record.expiresAt <= now) ended.push(token);
    if (ended.length === REMOVED_PER_PIECE_MAX) return ended;
  }
  return ended;
}

export const accessTokens = { sweeps: { access_tokens: removeEndedTokens } };
