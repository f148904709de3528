import { expectUnchanged, type Key, type KeyPrefix } from '../../store/port.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import type { Sweep } from './sweep.ts';

const LISTED_PER_PIECE_MAX = 500;

/** Records that tell of something else: the rest of a key after the prefix names it. */
export interface Notes {
  readonly prefix: KeyPrefix;
  readonly isThere: (memory: FleetMemory, id: string) => unknown;
  /** The key of what they tell of. */
  readonly of: (id: string) => Key;
}

/**
 * Removes records of what is gone. The store is asked for that as well, as memory may be behind. The commits are quiet:
 * no replica has these records in memory.
 */
export function leftBehind(...notes: readonly Notes[]): Sweep {
  return async ({ store, memory, fence }, from, signal) => {
    const [place, after] = placeOf(from);
    const note = notes[place];
    if (!note) return { gone: 0, next: undefined };
    const page = await store.list({ prefix: note.prefix, limit: LISTED_PER_PIECE_MAX, keysOnly: true, after });
    let gone = 0;
    for (const entry of page.entries) {
      if (signal.aborted) break;
      const id = entry.key.slice(note.prefix.length);
      if (note.isThere(memory, id) || (await store.get(note.of(id)))) continue;
      const write = [{ remove: entry.key }];
      const { outcome } = await store.commit({ expect: [expectUnchanged(entry), ...fence], write, quiet: true });
      if (outcome === 'committed') gone += 1;
    }
    if (page.next !== undefined) return { gone, next: `${place}:${page.next}` };
    return { gone, next: place + 1 < notes.length ? `${place + 1}:` : undefined };
  };
}

/** The kind of notes with which a piece goes on, and the key after which it does. */
function placeOf(from: string | undefined): readonly [place: number, after: string] {
  const [, place = '0', after = ''] = /^(\d+):(.*)$/s.exec(from ?? '') ?? [];
  return [Number(place), after];
}
