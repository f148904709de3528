import { ABSENT, type Expectation, type Store, type Write } from '../../store/port.ts';
import { dayAfter, daysBefore } from '../status-history/day-record.ts';
import { meteredSchema, type DayRecord } from '../records/metering-records.ts';
import { KEYS, parseRecord, put, type Versioned } from '../records/records.ts';

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
/**
 * Removed in one commit, and so many commits a round: of a day on which a whole fleet enrolled there are a million, and
 * one commit of them all would hold up every writer for seconds.
 */
const ENTRIES_PER_COMMIT = 100;
const COMMITS_PER_ROUND_MAX = 50;

export interface Forgotten {
  /** Nothing is left to remove. */
  readonly all: boolean;
  /** Where the next round goes on: keys that are gone are passed over slowly until the history is compacted. */
  readonly to: string | undefined;
}

/** Removes entries that no night needs any more, oldest day first. @param from `to` of the round before */
export async function forgetChanges(
  deps: FencedStore,
  metered: Watermark,
  from: string | undefined,
): Promise<Forgotten> {
  if (metered.through === undefined) return { all: true, to: from };
  const end = KEYS.statusChanges(dayAfter(daysBefore(metered.through, DAYS_KEPT)));
  const expectation = { key: KEYS.metered, revision: metered.revision };
  let to = from;
  for (let commits = 0; commits < COMMITS_PER_ROUND_MAX; commits += 1) {
    const request = { prefix: KEYS.statusChangesAll, limit: ENTRIES_PER_COMMIT, keysOnly: true };
    const page = await deps.store.list({ ...request, ...(to !== undefined && { after: to }) });
    const old = page.entries.filter(({ key }) => key < end).map(({ key }) => key);
    if (old.length === 0) return { all: true, to };
    const removals = old.map((key) => ({ remove: key }));
    if (!(await happens(deps, expectation, removals, true))) return { all: false, to };
    to = old.at(-1);
  }
  return { all: false, to };
}
