import { inParallel } from '../../concurrency/in-parallel.ts';
import { PAGE_ENTRIES_MAX, type Entry, type Store } from '../../store/port.ts';
import { auditKey, instantOf, type SealRecord, suffixOf } from '../records/audit-records.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

/* Blocks of a chain, and the entries that they name. Keys of entries hardly differ from the order of the chain. */

/** Entries of other blocks that may lie between those of some. */
const BETWEEN = 16;
const READS_AT_ONCE = 16;
/** An entry that is so much older than one before it in the chain is read alone: a list would begin far away. */
const STRAY_MS = 60_000;

/** The blocks from one number to another that are there, in order. @throws StoreUnavailable; BadRecord */
export async function readBlocks(
  store: Pick<Store, 'list'>,
  accountId: string,
  from: number,
  to: number,
): Promise<readonly SealRecord[]> {
  if (from > to) return [];
  const after = KEYS.seal(accountId, from - 1);
  const { entries } = await store.list({ prefix: KEYS.seal.under(accountId), after, limit: to - from + 1 });
  return entries.map((entry) => parseRecord(KEYS.seal, entry).record).filter(({ number }) => number <= to);
}

/**
 * The entries of some names in the order of the chain, by their names; one that was removed is not there. A list brings
 * most of them, and each of the others costs a read.
 * @param passedOver how many entries of their blocks lie between them
 * @throws StoreUnavailable
 */
export async function readNamed(
  store: Pick<Store, 'get' | 'list'>,
  accountId: string,
  names: readonly string[],
  passedOver = 0,
): Promise<ReadonlyMap<string, Entry>> {
  const found = new Map<string, Entry>();
  const wanted = new Set(names);
  const near = withoutStrays(names).toSorted();
  const [first] = near;
  if (first !== undefined && near.length > 1) {
    const prefix = KEYS.audit.under(accountId);
    // A listing begins after a key. The key without its last character sorts before it.
    const after = prefix + first.slice(0, -1);
    const limit = Math.min(near.length + passedOver + BETWEEN, PAGE_ENTRIES_MAX);
    const { entries } = await store.list({ prefix, after, limit });
    for (const entry of entries) {
      const name = suffixOf(accountId, entry.key);
      if (wanted.has(name)) found.set(name, entry);
    }
  }
  const missing = names.filter((name) => !found.has(name));
  await inParallel(missing, { atOnce: READS_AT_ONCE }, async (name) => {
    const entry = await store.get(auditKey(accountId, name));
    if (entry) found.set(name, entry);
  });
  return found;
}

function withoutStrays(names: readonly string[]): readonly string[] {
  let newest = 0;
  return names.filter((name) => {
    const instant = instantOf(name) || 0;
    newest = Math.max(newest, instant);
    return instant >= newest - STRAY_MS;
  });
}
