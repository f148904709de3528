import { ABSENT, type Expectation, type Store, type Write } from '../store/port.ts';
import { daysBefore } from './day.ts';
import { meteredSchema, type DayRecord } from './night-records.ts';
import { KEYS, parseRecord, put, type Versioned } from './records.ts';

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

const happens = async (
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
  return await happens(deps, { key: KEYS.metered, revision: before.revision }, [put(KEYS.metered, { through })], true);
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
  return await happens(deps, { key: KEYS.day, revision: current?.revision ?? ABSENT }, [put(KEYS.day, record)], false);
}

/** The entries of a day serve the nights before it. Two days are kept beyond that, for whoever looks into a question. */
const DAYS_KEPT = 2;
/** Removed in one round. */
const DAYS_PER_ROUND_MAX = 31;

/** Removes the entries that no night needs any more, oldest day first. */
export async function forgetChanges(deps: FencedStore, metered: Watermark): Promise<boolean> {
  if (metered.through === undefined) return true;
  const newest = daysBefore(metered.through, DAYS_KEPT);
  for (let removed = 0; removed < DAYS_PER_ROUND_MAX; removed += 1) {
    const page = await deps.store.list({ prefix: KEYS.allLives, limit: 1, keysOnly: true });
    const day = page.entries[0]?.key.slice(KEYS.allLives.length).split('/')[0];
    if (day === undefined || day > newest) return true;
    const expectation = { key: KEYS.metered, revision: metered.revision };
    if (!(await happens(deps, expectation, [{ removeAll: KEYS.lives(day) }], true))) return false;
  }
  return false;
}
