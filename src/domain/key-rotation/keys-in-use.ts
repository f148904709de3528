import { pagesOf } from '../../store/pages.ts';
import { PAGE_ENTRIES_MAX, type Entry, type Store } from '../../store/port.ts';
import { readActiveKey } from '../keys/active-key.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { RewrappedRecord } from '../records/replica-records.ts';

/**
 * Whether nothing is sealed under an older key any more: a whole pass under the active key has rewrapped what was.
 * @param active the number of the active key
 */
export const isRetired = (number: number, active: number, rewrapped: RewrappedRecord | undefined): boolean =>
  number < active && rewrapped?.number === active && !rewrapped.left.includes(number);

/** The record of the last whole pass; undefined before the first. @throws StoreUnavailable; BadRecord */
export async function readRewrapped(store: Pick<Store, 'get'>): Promise<RewrappedRecord | undefined> {
  const entry = await store.get(KEYS.rewrapped());
  return entry && parseRecord(KEYS.rewrapped, entry).record;
}

/**
 * The keys among these that a replica must not lose: the active one, and older ones that may still seal something. A
 * newer key seals nothing before a rotation.
 * @throws StoreUnavailable; BadRecord
 */
export async function keysInUse(store: Store, numbers: readonly number[]): Promise<readonly number[]> {
  const [active, rewrapped] = await Promise.all([readActiveKey(store), readRewrapped(store)]);
  if (!active) return numbers;
  const { number: writing } = active.record;
  return numbers.filter((number) => number <= writing && !isRetired(number, writing, rewrapped));
}

/**
 * The keys that a replica which starts lacks, besides the active one, and that a whole pass would still need: after it,
 * what is left under an older key is what no key of the leader opened. A replica that starts knows of no key from
 * before, so the texts themselves tell their numbers; they are only read while a pass is to come and a number is
 * absent.
 * @throws StoreUnavailable; BadRecord
 */
export async function keysLacking(store: Store, ring: KeyRing): Promise<readonly number[]> {
  const [active, rewrapped] = await Promise.all([readActiveKey(store), readRewrapped(store)]);
  // A restored store has none before its first start, which may have to do without keys that are lost.
  if (!active || rewrapped?.number === active.record.number) return [];
  const { number: writing } = active.record;
  const older = new Set([...ring.numbers, ...(rewrapped?.left ?? [])].filter((number) => number < writing));
  if (older.size === writing - 1) return [];
  const lacking = new Set<number>();
  for (const prefix of [KEYS.account.under(), KEYS.idempotencySlot.under()]) {
    for await (const { entries } of pagesOf(store, { prefix, limit: PAGE_ENTRIES_MAX })) {
      for (const entry of entries) {
        const number = sealedUnder(entry);
        if (number !== undefined && number < writing && !older.has(number)) lacking.add(number);
      }
    }
  }
  return [...lacking].sort((a, b) => a - b);
}

/** Undefined also for a record that cannot be read: that is told elsewhere, and no reason not to start. */
function sealedUnder(entry: Entry): number | undefined {
  try {
    return keyNumberOf(entry);
  } catch (error) {
    if (error instanceof BadRecord) return undefined;
    throw error;
  }
}

function keyNumberOf(entry: Entry): number | undefined {
  if (entry.key.includes('/answer/')) return parseRecord(KEYS.idempotencyRecord, entry).record.answer.keyNumber;
  const [accountId = '', kind] = entry.key.startsWith(KEYS.account.under())
    ? entry.key.slice(KEYS.account.under().length).split('/')
    : [];
  if (kind === undefined || entry.key !== KEYS.otel(accountId)) return undefined;
  return parseRecord(KEYS.otel, entry).record.config?.header?.keyNumber;
}
