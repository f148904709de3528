import {
  absentSnapshot,
  expectAsFound,
  expectUnchanged,
  snapshotOf,
  type Expectation,
  type Snapshot,
  type Store,
  type Write,
} from '../../store/port.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { DayRecord, MeteredRecord } from '../records/metering-records.ts';

/** The last night that is metered for every account. */
export interface Watermark extends Snapshot {
  /** `YYYY-MM-DD`; undefined before the first. */
  readonly through: string | undefined;
  readonly record?: MeteredRecord;
}

/** Reads the watermark. @throws StoreUnavailable; BadRecord */
export async function readWatermark(store: Pick<Store, 'get'>): Promise<Watermark> {
  const entry = await store.get(KEYS.metered());
  if (!entry) return { through: undefined, ...absentSnapshot(KEYS.metered()) };
  const { record } = parseRecord(KEYS.metered, entry);
  return { through: record.through, record, ...snapshotOf(entry) };
}

export interface FencedStore {
  readonly store: Pick<Store, 'list' | 'commit'>;
  /** The fence of the leader's term: every commit expects it. */
  readonly fence: readonly Expectation[];
}

/**
 * Commits under the leader's fence.
 * @returns whether it was committed; if not, another process was faster, or leads
 * @throws StoreUnavailable
 */
export const commitFenced = async (
  { store, fence }: FencedStore,
  expectation: Expectation,
  write: readonly Write[],
  quiet: boolean,
): Promise<boolean> => {
  const change = { expect: [expectation, ...fence] as const, write, ...(quiet && { quiet: true as const }) };
  return (await store.commit(change)).outcome === 'committed';
};

/**
 * Moves the watermark to the night `through`, which must be recorded for every account.
 * @param newest the newest record of that night, where it has any: it must still be there
 * @returns whether it was committed; if not, another process was faster, or leads, or the store was restored
 * @throws StoreUnavailable
 */
export async function advanceWatermark(
  { store, fence }: FencedStore,
  before: Watermark,
  through: string,
  newest?: Expectation,
): Promise<boolean> {
  return await commitFenced(
    { store, fence: newest ? [...fence, newest] : fence },
    expectUnchanged(before),
    [put(KEYS.metered(), { ...before.record, through })],
    true,
  );
}

/**
 * Ends a day that no change has ended. The commit is not quiet: the watch cache must see it. A store that has no day
 * record yet begins with today.
 * @returns whether it was committed; if not, another process was faster, or leads
 * @throws StoreUnavailable
 */
export async function moveDayOn(
  deps: FencedStore,
  current: Versioned<DayRecord> | undefined,
  today: string,
): Promise<boolean> {
  const record: DayRecord = { since: today, ...current?.record, day: today };
  return await commitFenced(deps, expectAsFound(KEYS.day(), current), [put(KEYS.day(), record)], false);
}
