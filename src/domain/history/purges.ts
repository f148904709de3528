import { pagesOf } from '../../store/pages.ts';
import {
  expectAsFound,
  expectUnchanged,
  type CommitResult,
  type Entry,
  type Expectation,
  type Store,
  type Write,
} from '../../store/port.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

/** Each note may need the count of a key of its own, and a commit has at most 127 operations. */
const PURGES_PER_COMMIT_MAX = 60;
const LISTED_MAX = 1000;

/** Whether the store's history may still hold purged secrets. */
export interface PurgesInHistory {
  /** Whether anything that was purged may still be in the store's history. */
  readonly any: boolean;
  /** The store's revision at the time of the answer. */
  readonly revision: number;
}

/** Reads whether there are notes of purges that the history may still hold. @throws StoreUnavailable */
export async function purgesInHistory(store: Store): Promise<PurgesInHistory> {
  const { entries, revision } = await store.list({ prefix: KEYS.purge.under(), limit: 1, keysOnly: true });
  return { any: entries.length > 0, revision };
}

/**
 * Reads when the oldest purge was that the history may still hold, in milliseconds since 1970; undefined where there is
 * none that can be read. Of more than 1000 purges it is the oldest of some. @throws StoreUnavailable
 */
export async function oldestPurgeAt(store: Store): Promise<number | undefined> {
  const { entries } = await store.list({ prefix: KEYS.purge.under(), limit: LISTED_MAX });
  const instants = entries.flatMap((entry) => KEYS.purge.schema.safeParse(textOf(entry)).data?.at ?? []);
  return instants.length === 0 ? undefined : Math.min(...instants);
}

/** Undefined where a note is no JSON: whoever counts it says so. */
function textOf({ value }: Entry): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/**
 * O10: turns the notes of purges that the history no longer holds into a count for each key, since the store's logs and
 * backups may hold the secrets until the key is retired. The history is compacted before: after a crash in between it
 * is compacted once more.
 * @param revision the revision that the history was compacted to; where Muster does not compact it, the store's
 *   revision
 * @throws StoreUnavailable; BadRecord
 */
export async function countCompactedPurges(
  store: Store,
  revision: number,
  fence: readonly Expectation[] = [],
): Promise<void> {
  for await (const { entries } of pagesOf(store, { prefix: KEYS.purge.under(), limit: PURGES_PER_COMMIT_MAX })) {
    const gone = entries.filter((entry) => entry.revision <= revision);
    // A conflict is another leader, or another commit to the same count: the next call counts the rest.
    if ((await countSome(store, gone, fence)) === 'conflict') return;
  }
}

/** Counts and removes some notes of purges that the history no longer holds. */
async function countSome(
  store: Store,
  notes: readonly Entry[],
  fence: readonly Expectation[],
): Promise<CommitResult['outcome']> {
  const [first, ...others] = notes.map((note) => expectUnchanged(note));
  if (!first) return 'committed';
  const counted = await countByKey(
    store,
    notes.map((note) => parseRecord(KEYS.purge, note).record.keyNumber),
  );
  const { outcome } = await store.commit({
    expect: [first, ...others, ...counted.expect, ...fence],
    write: [...notes.map((note) => ({ remove: note.key })), ...counted.write],
  });
  return outcome;
}

/**
 * Tells whether something was purged at or before a revision that is not the store's newest.
 * @throws StoreUnavailable
 */
export async function isPurgedBy(store: Store, revision: number): Promise<boolean> {
  for await (const { entries } of pagesOf(store, { prefix: KEYS.purge.under(), limit: LISTED_MAX, keysOnly: true })) {
    if (entries.some((note) => note.revision <= revision)) return true;
  }
  return false;
}

async function countByKey(
  store: Store,
  keyNumbers: readonly (number | undefined)[],
): Promise<{ expect: Expectation[]; write: Write[] }> {
  const counts = new Map<number, number>();
  for (const number of keyNumbers) if (number !== undefined) counts.set(number, (counts.get(number) ?? 0) + 1);
  const expect: Expectation[] = [];
  const write: Write[] = [];
  for (const [number, count] of counts) {
    const entry = await store.get(KEYS.purged(number));
    const before = entry ? parseRecord(KEYS.purged, entry).record : { count: 0 };
    expect.push(expectAsFound(KEYS.purged(number), entry));
    write.push(put(KEYS.purged(number), { ...before, count: before.count + count }));
  }
  return { expect, write };
}

/**
 * Counts the purged secrets that a key of the ring could still open, wherever their ciphertext lies, by the number of
 * the key that sealed them last. Older keys may have wrapped the same data key before a rotation, so all keys up to
 * that number must be retired.
 * @throws StoreUnavailable; BadRecord
 */
export async function purgesAwaitingRetirement(store: Store, keyRing: KeyRing): Promise<ReadonlyMap<number, number>> {
  const [counted, fresh] = await Promise.all([
    store.list({ prefix: KEYS.purged.under(), limit: LISTED_MAX }),
    store.list({ prefix: KEYS.purge.under(), limit: LISTED_MAX }),
  ]);
  const waiting = new Map<number, number>();
  const add = (number: number, count: number): void => {
    if (keyRing.numbers.some((known) => known <= number)) waiting.set(number, (waiting.get(number) ?? 0) + count);
  };
  for (const entry of counted.entries) {
    add(Number(entry.key.slice(KEYS.purged.under().length)), parseRecord(KEYS.purged, entry).record.count);
  }
  for (const entry of fresh.entries) {
    const number = parseRecord(KEYS.purge, entry).record.keyNumber;
    if (number !== undefined) add(number, 1);
  }
  return waiting;
}

/** The sum over all keys, for the metric, which does not distinguish keys. */
export const sumOf = (counts: ReadonlyMap<number, number>): number => {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
};
