import { ABSENT, type Store, type Write } from '../store/port.ts';
import type { KeyRing } from './key-ring.ts';
import { KEYS, parseRecord, purgedSchema, purgeSchema, put } from './records.ts';

const PURGES_PER_ROUND_MAX = 100;

/**
 * O10: takes purged configurations out of the store's history. What the store's logs and backups may still hold is
 * counted by the key that can open it, until that key is retired.
 * @param compacts false where somebody else compacts this store: then the purges are only counted
 * @returns false when there was nothing to do
 * @throws StoreUnavailable
 */
export async function forgetPurged(store: Store, compacts: boolean): Promise<boolean> {
  const { entries, revision } = await store.list({ prefix: KEYS.purges, limit: PURGES_PER_ROUND_MAX });
  const [first, ...others] = entries;
  if (!first) return false;
  // First the history, then the note: a crash in between compacts once more, and never too little.
  if (compacts) await store.compact(revision);
  const counted = await countByKey(
    store,
    entries.map((entry) => parseRecord(purgeSchema, entry).record.keyNumber),
  );
  const expected = ({ key, revision: at }: { key: string; revision: number }): { key: string; revision: number } => ({
    key,
    revision: at,
  });
  await store.commit({
    expect: [expected(first), ...others.map(expected), ...counted.expect],
    write: [...entries.map((entry) => ({ remove: entry.key })), ...counted.write],
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
 * Purged secrets that a key of the ring could still open, wherever their ciphertext lies.
 * @throws StoreUnavailable
 */
export async function purgesAwaitingRetirement(store: Store, keyRing: KeyRing): Promise<number> {
  const [counted, fresh] = await Promise.all([
    store.list({ prefix: KEYS.purgedAll, limit: PURGES_PER_ROUND_MAX }),
    store.list({ prefix: KEYS.purges, limit: PURGES_PER_ROUND_MAX }),
  ]);
  let waiting = 0;
  for (const entry of counted.entries) {
    const number = Number(entry.key.slice(KEYS.purgedAll.length));
    if (keyRing.key(number)) waiting += parseRecord(purgedSchema, entry).record.count;
  }
  for (const entry of fresh.entries) {
    const number = parseRecord(purgeSchema, entry).record.keyNumber;
    if (number !== undefined && keyRing.key(number)) waiting += 1;
  }
  return waiting;
}
