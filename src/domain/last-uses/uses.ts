import { BadRecord } from '../records/codec.ts';
import { sumOf, toStored, type DailyCalls, type StoredCalls } from './daily-calls.ts';

/* The uses of keys or sessions of one owner, as they are read, joined and stored. */

/** The last use of one, and its calls since. */
export interface Use {
  readonly at: number;
  readonly calls: DailyCalls;
}
export type Uses = ReadonlyMap<string, Use>;
export const NONE: Uses = new Map();

/** Gives the later use of each key or session, and the calls of both. */
export function together(one: Uses, other: Uses): Uses {
  const both = new Map(one);
  for (const [id, { at, calls }] of other) {
    const before = both.get(id);
    both.set(id, before ? { at: Math.max(at, before.at), calls: sumOf(before.calls, calls) } : { at, calls });
  }
  return both;
}

export const instantsOf = (uses: Uses): ReadonlyMap<string, number> => new Map(pairsOf(uses));

/** The uses of a record; none where it is damaged. */
export function readable(read: () => Uses): Uses {
  try {
    return read();
  } catch (error) {
    if (error instanceof BadRecord) return NONE;
    throw error;
  }
}

export const pairsOf = (uses: Uses): [id: string, at: number][] => [...uses].map(([id, { at }]) => [id, at]);

export function storedCalls(uses: Uses, today: number): [id: string, ...StoredCalls][] {
  return [...uses].flatMap(([id, { calls }]) => {
    const stored = toStored(calls, today);
    return stored ? [[id, ...stored]] : [];
  });
}
