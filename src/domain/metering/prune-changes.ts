import { expectUnchanged } from '../../store/port.ts';
import { pagesOf } from '../../store/pages.ts';
import { KEYS } from '../records/keys.ts';
import { dayAfter, daysBefore } from '../status-history/day-record.ts';
import { commitFenced, type FencedStore, type Watermark } from './watermark.ts';

/** The changes of a day serve the nights before it. Two more days are kept, to answer questions about a bill. */
const DAYS_KEPT = 2;
/**
 * The changes of one commit, and the commits of one round: a day on which a whole fleet enrolled has a million changes,
 * and one commit of them all would hold up every writer for seconds.
 */
const ENTRIES_PER_COMMIT = 100;
const COMMITS_PER_ROUND_MAX = 50;

interface Pruned {
  /** Nothing is left to remove. */
  readonly all: boolean;
  /** The start of the next round: until the history is compacted, a store passes over removed keys slowly. */
  readonly to: string | undefined;
}

/**
 * Removes status changes that no night needs any more, oldest day first; 5000 at most in one call.
 * @param from `to` of the round before
 * @throws StoreUnavailable
 */
export async function pruneChanges(deps: FencedStore, metered: Watermark, from: string | undefined): Promise<Pruned> {
  if (metered.through === undefined) return { all: true, to: from };
  const end: string = KEYS.statusChange.under(dayAfter(daysBefore(metered.through, DAYS_KEPT)));
  const expectation = expectUnchanged(metered);
  const request = { prefix: KEYS.statusChange.under(), limit: ENTRIES_PER_COMMIT, keysOnly: true };
  let [to, commits] = [from, 0];
  for await (const { entries, next } of pagesOf(deps.store, {
    ...request,
    after: from,
  })) {
    const old = entries.filter(({ key }) => key < end).map(({ key }) => key);
    if (old.length === 0) break;
    const removals = old.map((key) => ({ remove: key }));
    if (!(await commitFenced(deps, expectation, removals, true))) return { all: false, to };
    to = old.at(-1);
    commits += 1;
    if (commits === COMMITS_PER_ROUND_MAX) return { all: next === undefined, to };
  }
  return { all: true, to };
}
