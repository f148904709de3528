import { ABSENT, type Store, type Write } from '../store/port.ts';
import type { KeyRing } from './key-ring.ts';
import { KEYS, parseRecord, purgedSchema, purgeSchema, put } from './records.ts';

/** Each of them may have its own key's count, and a commit has 127 operations. */
const PURGES_PER_COMMIT_MAX = 60;
const LISTED_MAX = 1000;

export interface Purged {
  /** Whether anything that was purged may still be in the store's history. */
  readonly any: boolean;
  /** The store's revision when this was asked. */
  readonly revision: number;
}

/** @throws StoreUnavailable */
export async function purgedYetToForget(store: Store): Promise<Purged> {
  const { entries, revision } = await store.list({ prefix: KEYS.purges, limit: 1, keysOnly: true });
  return { any: entries.length > 0, revision };
}

/**
 * O10: what the store's logs and backups may still hold is counted by the key that can open it, until that key is
 * retired. First the history is compacted, then the notes are counted: a crash in between compacts once more, and
 * never too little.
 * @param revision the one that the history was compacted to, or where somebody else compacts it, the store's
 * @throws StoreUnavailable
 */
export async function countForgotten(store: Store, revision: number): Promise<void> {
  while (await countSome(store, revision));
}

/** Counts and removes some notes of purges that the history held no longer at the revision; false when there is none. */
async function countSome(store: Store, revision: number): Promise<boolean> {
  const { entries } = await store.list({ prefix: KEYS.purges, limit: PURGES_PER_COMMIT_MAX });
  const notes = entries.filter((entry) => entry.revision <= revision);
  const [first, ...others] = notes.map((note) => ({ key: note.key, revision: note.revision }));
  if (!first) return false;
  const counted = await countByKey(
    store,
    notes.map((note) => parseRecord(purgeSchema, note).record.keyNumber),
  );
  // A conflict is another replica that did the same: what it left is looked at anew.
  await store.commit({
    expect: [first, ...others, ...counted.expect],
    write: [...notes.map((note) => ({ remove: note.key })), ...counted.write],
  });
  return true;
}

async function countByKey(
  store: Store,
  keyNumbers: readonly (number | undefined)[],
): Promise<{ expect: { key: string; revision: number }[]; write: Write[] }> {
  const counts = new Map<number, number>();
  for (const number of keyNumbers) if (number !== undefined) counts.set(number, (counts.get(number) ?? 0) + 1);
  const expect: { key: string; revision: number }[] = [];
  const write: Write[] = [];
  for (const [number, count] of counts) {
    const entry = await store.get(KEYS.purged(number));
    const before = entry ? parseRecord(purgedSchema, entry).record.count : 0;
    expect.push({ key: KEYS.purged(number), revision: entry?.revision ?? ABSENT });
    write.push(put(KEYS.purged(number), { count: before + count }));
  }
  return { expect, write };
}

/**
 * Purged secrets that a key of the ring could still open, wherever their ciphertext lies, by the key that sealed them
 * last. Before a rotation older keys may have wrapped the same data key: all up to that one must go.
 * @throws StoreUnavailable
 */
export async function purgesAwaitingRetirement(store: Store, keyRing: KeyRing): Promise<ReadonlyMap<number, number>> {
  const [counted, fresh] = await Promise.all([
    store.list({ prefix: KEYS.purgedAll, limit: LISTED_MAX }),
    store.list({ prefix: KEYS.purges, limit: LISTED_MAX }),
  ]);
  const waiting = new Map<number, number>();
  const add = (number: number, count: number): void => {
    if (keyRing.numbers.some((known) => known <= number)) waiting.set(number, (waiting.get(number) ?? 0) + count);
  };
  for (const entry of counted.entries) {
    add(Number(entry.key.slice(KEYS.purgedAll.length)), parseRecord(purgedSchema, entry).record.count);
  }
  for (const entry of fresh.entries) {
    const number = parseRecord(purgeSchema, entry).record.keyNumber;
    if (number !== undefined) add(number, 1);
  }
  return waiting;
}

/** For the metric, which knows no numbers. */
export const sumOf = (counts: ReadonlyMap<number, number>): number => {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
};
