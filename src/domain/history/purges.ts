import { pagesOf } from '../../store/pages.ts';
import { ABSENT, type CommitResult, type Entry, type Expectation, type Store, type Write } from '../../store/port.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { purgedSchema, purgeSchema } from '../records/records.ts';

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
export async function countForgotten(
  store: Store,
  revision: number,
  fence: readonly Expectation[] = [],
): Promise<void> {
  for await (const { entries } of pagesOf(store, { prefix: KEYS.purges, limit: PURGES_PER_COMMIT_MAX })) {
    const gone = entries.filter((entry) => entry.revision <= revision);
    // A conflict is another leader, or a key that is being counted elsewhere: what is left is looked at next time.
    if ((await countSome(store, gone, fence)) === 'conflict') return;
  }
}

/** Counts and removes some notes of purges that the history holds no longer. */
async function countSome(
  store: Store,
  notes: readonly Entry[],
  fence: readonly Expectation[],
): Promise<CommitResult['outcome']> {
  const [first, ...others] = notes.map((note) => ({ key: note.key, revision: note.revision }));
  if (!first) return 'committed';
  const counted = await countByKey(
    store,
    notes.map((note) => parseRecord(purgeSchema, note).record.keyNumber),
  );
  const { outcome } = await store.commit({
    expect: [first, ...others, ...counted.expect, ...fence],
    write: [...notes.map((note) => ({ remove: note.key })), ...counted.write],
  });
  return outcome;
}

/**
 * Whether something was purged by the revision, where that is not the store's newest.
 * @throws StoreUnavailable
 */
export async function isPurgedBy(store: Store, revision: number): Promise<boolean> {
  for await (const { entries } of pagesOf(store, { prefix: KEYS.purges, limit: LISTED_MAX, keysOnly: true })) {
    if (entries.some((note) => note.revision <= revision)) return true;
  }
  return false;
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
