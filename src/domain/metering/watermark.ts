import { ABSENT, type Expectation, type Store, type Write } from '../../store/port.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';
import type { DayRecord } from '../records/day-records.ts';
import { KEYS } from '../records/keys.ts';
import { meteredSchema } from '../records/metering-records.ts';

/** The last night that is metered for every account; undefined before the first. */
export interface Watermark {
  readonly through: string | undefined;
  readonly revision: number;
}

/** @throws StoreUnavailable */
export async function readWatermark(store: Pick<Store, 'get'>): Promise<Watermark> {
  const entry = await store.get(KEYS.metered);
  if (!entry) return { through: undefined, revision: ABSENT };
  const { record, revision } = parseRecord(meteredSchema, entry);
  return { through: record.through, revision };
}

export interface FencedStore {
  readonly store: Pick<Store, 'list' | 'commit'>;
  /** Of the leader's term. */
  readonly fence: readonly Expectation[];
}

/** @returns whether it was committed; if not, another process was faster, or leads. @throws StoreUnavailable */
export const commitFenced = async (
  { store, fence }: FencedStore,
  expectation: Expectation,
  write: readonly Write[],
  quiet: boolean,
): Promise<boolean> => {
  const change = { expect: [expectation, ...fence] as const, write, ...(quiet && { quiet: true as const }) };
  return (await store.commit(change)).outcome === 'committed';
};

/** Each returns whether it happened; if not, somebody else was faster, or leads. Each throws StoreUnavailable. */

export async function advanceWatermark(deps: FencedStore, before: Watermark, through: string): Promise<boolean> {
  return await commitFenced(
    deps,
    { key: KEYS.metered, revision: before.revision },
    [put(KEYS.metered, { through })],
    true,
  );
}

/**
 * Ends a day that no change has ended. Not quiet: the directory must see it. A store whose changes were not recorded
 * before begins with today.
 */
export async function moveDayOn(
  deps: FencedStore,
  current: Versioned<DayRecord> | undefined,
  today: string,
): Promise<boolean> {
  const record: DayRecord = { since: today, ...current?.record, day: today };
  return await commitFenced(
    deps,
    { key: KEYS.day, revision: current?.revision ?? ABSENT },
    [put(KEYS.day, record)],
    false,
  );
}
