import type { Store } from '../../store/port.ts';
import { readActiveKey } from '../keys/active-key.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { rewrappedSchema, type RewrappedRecord } from '../records/replica-records.ts';

/**
 * Whether nothing is sealed under an older key any more: a whole pass under the active key has rewrapped what was.
 * @param active the number of the active key
 */
export const isRetired = (number: number, active: number, rewrapped: RewrappedRecord | undefined): boolean =>
  number < active && rewrapped?.number === active && !rewrapped.left.includes(number);

/** The record of the last whole pass; undefined before the first. @throws StoreUnavailable; BadRecord */
export async function readRewrapped(store: Pick<Store, 'get'>): Promise<RewrappedRecord | undefined> {
  const entry = await store.get(KEYS.rewrapped);
  return entry && parseRecord(rewrappedSchema, entry).record;
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
