import type { Log } from '../../log.ts';
import { pagesOf } from '../../store/pages.ts';
import {
  PAGE_ENTRIES_MAX,
  expectAsFound,
  StoreUnavailable,
  type Entry,
  type Expectation,
  type Store,
  type Write,
} from '../../store/port.ts';
import type { Boot } from '../../time/boot.ts';
import type { Clock } from '../../time/clock.ts';
import { LIMITS } from '../limits.ts';
import { BadRecord, parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { KEPT_WINDOW, type KeptRecord } from '../records/rate-records.ts';
import type { KeptWindow } from './local-account.ts';
import type { WindowKeeper } from './local-window.ts';

/*
 * The windows as the embedded store keeps them through a crash. Like all records of the rate window they touch neither
 * `head` nor the audit. Instants are those of the machine's monotonic clock, in milliseconds, rounded up: the wall
 * clock plays no part.
 */

interface KeeperDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly boot: Boot;
  readonly log: Pick<Log, 'error'>;
}

const RECORDS_PER_COMMIT_MAX = 100;
const CHARACTERS_PER_COMMIT_MAX = 65_536;

/** Keeps windows on the embedded store. */
export function createWindowKeeper({ store, boot }: Pick<KeeperDeps, 'store' | 'boot'>): WindowKeeper {
  const writeOf = ([accountId, window]: readonly [string, KeptWindow | undefined]): Write => {
    const key = KEYS.rateWindow(accountId);
    return window ? put(key, recordOf(window, boot)) : { remove: key };
  };
  async function commit(batch: readonly Write[]): Promise<void> {
    // Each write of a window follows the one before it, and nobody else writes it: a conflict is a fault.
    const [first, ...others] = await Promise.all(batch.map(async (write) => expectationOf(keyOf(write))));
    if (!first) return;
    const { outcome } = await store.commit({ expect: [first, ...others], write: batch, quiet: true });
    if (outcome === 'conflict') throw new StoreUnavailable('failed', 'The rate window was written by somebody else.');
  }
  async function expectationOf(key: string): Promise<Expectation> {
    return expectAsFound(key, await store.get(key));
  }
  return {
    async keep(windows) {
      for (const batch of batches([...windows].map(writeOf))) await commit(batch);
    },
  };
}

const keyOf = (write: Write): string => ('put' in write ? write.put : 'remove' in write ? write.remove : '');

function* batches(writes: readonly Write[]): Iterable<readonly Write[]> {
  let batch: Write[] = [];
  let characters = 0;
  for (const write of writes) {
    const length = 'put' in write ? write.value.length : 0;
    if (batch.length === RECORDS_PER_COMMIT_MAX || characters + length > CHARACTERS_PER_COMMIT_MAX) {
      yield batch;
      [batch, characters] = [[], 0];
    }
    batch.push(write);
    characters += length;
  }
  yield batch;
}

function recordOf(
  { spent, units, until }: KeptWindow,
  { id, origin }: Boot,
): KeptRecord & { readonly instants: readonly [] } {
  const instants = spent.map((at) => Math.ceil(at + origin));
  return {
    // Builds from before 0.1.0 cannot read a record without it.
    instants: [],
    ...(id !== undefined && { boot: id }),
    spent: instants.map((at, index) => at - (instants[index - 1] ?? 0)),
    ...(units > 0 && { slice: { units, until: Math.ceil(until + origin) } }),
  };
}

/**
 * Reads what was kept, by account, as instants of `Clock.monotonic`, oldest first; accounts of which nothing counts any
 * more have none. Units of a slice count as spent now, or at its end where that is over; all units of another boot
 * count as spent now.
 * @throws StoreUnavailable
 */
export async function readKeptWindows(deps: KeeperDeps): Promise<ReadonlyMap<string, readonly number[]>> {
  const { store, clock, boot, log } = deps;
  // Read after the store was opened, so that the process before this one has spent nothing since.
  const now = clock.monotonic() + boot.origin;
  const windows = new Map<string, readonly number[]>();
  for await (const { entries } of pagesOf(store, { prefix: KEYS.rateWindow.under(), limit: PAGE_ENTRIES_MAX })) {
    for (const entry of entries) {
      const counted = countedOf(entry, boot.id, now, log).filter((at) => now - at < LIMITS.rateWindowMs);
      const newest = counted.slice(-LIMITS.requestsPerWindowMax);
      windows.set(
        entry.key.slice(KEYS.rateWindow.under().length),
        newest.map((at) => at - boot.origin),
      );
    }
  }
  return windows;
}

/** The units of a record, oldest first, each with the latest instant at which it may have been spent. */
function countedOf(entry: Entry, boot: string | undefined, now: number, log: KeeperDeps['log']): readonly number[] {
  let record: KeptRecord;
  try {
    ({ record } = parseRecord(KEPT_WINDOW, entry));
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    log.error({ err: error }, 'a rate window cannot be read: it counts as full, and is written anew');
    return repeated(LIMITS.requestsPerWindowMax, now);
  }
  const { spent, slice = { units: 0, until: 0 } } = record;
  let at = 0;
  // A unit was spent before now; its instant was rounded up.
  const known = spent.map((distance) => Math.min((at += distance), now));
  // An instant that is to come, rounded up as it is, is of another clock.
  const isOfThisBoot = boot !== undefined && record.boot === boot && at <= Math.ceil(now);
  if (!isOfThisBoot) return repeated(known.length + slice.units, now);
  return [...known, ...repeated(slice.units, Math.min(now, slice.until))];
}

const repeated = (units: number, at: number): readonly number[] =>
  Array.from({ length: Math.min(units, LIMITS.requestsPerWindowMax) }, () => at);
