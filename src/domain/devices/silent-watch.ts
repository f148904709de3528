import type { Log } from '../../log.ts';
import { pagesOf } from '../../store/pages.ts';
import { PAGE_ENTRIES_MAX, StoreUnavailable, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { KEYS } from '../records/keys.ts';
import type { HeldPolls } from './held-polls.ts';

export interface SilentWatchDeps {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly log: Log;
  readonly stopping: AbortSignal;
}

/** Together with the read of `head`, and of what has changed, a held poll ends within two seconds of a change. */
const CHECK_EVERY_MS = 1000;
const PAUSE_MS_MIN = 100;
const RANGES_AT_ONCE = 8;
/** The records of an account beside its apps, about. */
const RECORDS_PER_ACCOUNT = 5;
/** Account ids are random words of these. */
const FIRST_LETTERS = 36;
/** Listing a full page takes as long as listing so many accounts one by one, about. */
const ACCOUNTS_PER_PAGE = 8;

/**
 * Held polls are woken by the watch of the store. As long as some are held, this asks once a second, one read of `head`
 * for all of them, whether memory is as new as the store. Where it is not, the watch may be silent: the revisions of
 * the accounts with held polls are listed, and the polls whose app, account or configuration is another than in memory
 * are woken. They are authenticated by the store itself then. Where the store was lost, all of them are.
 * @returns begins to check, and ends when no poll is held; to be called when a first one is
 */
export function createSilentWatchCheck(deps: SilentWatchDeps, polls: () => HeldPolls): () => void {
  const { fleet, clock, log, stopping } = deps;
  let isRunning = false;

  async function run(): Promise<void> {
    for (let pauseMs = CHECK_EVERY_MS; ;) {
      await clock.sleep(pauseMs, stopping);
      if (stopping.aborted || polls().count === 0) break;
      const startedAt = clock.monotonic();
      try {
        const reader = await fleet.current();
        if (!reader.atOnce) await wakeChanged(deps, polls());
      } catch (error) {
        // While the store does not answer nothing is known of a change, and no poll could be authenticated. One that is
        // lost may never come back: the polls end as new ones do (A14).
        if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'held polls could not be checked');
        else if (error.reason === 'replaced') wakeAll(polls());
      }
      // A listing of very many accounts takes a part of the second.
      pauseMs = Math.max(PAUSE_MS_MIN, CHECK_EVERY_MS - (clock.monotonic() - startedAt));
    }
    isRunning = false;
  }

  return () => {
    if (isRunning) return;
    isRunning = true;
    void run();
  };
}

function wakeAll(polls: HeldPolls): void {
  for (const [accountId] of polls.accounts()) polls.wake(accountId, undefined);
}

async function wakeChanged(deps: SilentWatchDeps, polls: HeldPolls): Promise<void> {
  const ranges = rangesOf(deps.fleet.memory, polls)[Symbol.iterator]();
  const hasCaughtUp = deps.fleet.catchingUp();
  // Memory that is being filled anew tells every held poll of it once it is whole, and a watch that was slow and not
  // silent has told them: else a busy store would be listed because it is busy.
  let hasFailed = false;
  const isOver = (): boolean => hasFailed || !deps.fleet.memory.whole || hasCaughtUp();
  const worker = async (): Promise<void> => {
    for (let next = ranges.next(); next.done !== true && !isOver(); next = ranges.next()) {
      await wakeChangedIn(deps, polls, next.value, isOver).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
    }
  };
  // All of them end before another round begins, also where one fails: a slow store would get more and more to do.
  const ends = await Promise.allSettled(Array.from({ length: RANGES_AT_ONCE }, worker));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** The accounts with held polls under a prefix, with the apps of each. */
interface AccountRange {
  readonly prefix: string;
  readonly accounts: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Ranges that hold every account with held polls: those whose ids begin alike are listed together, with all others
 * between them, where that takes less than to list each.
 */
function* rangesOf(memory: FleetMemory, polls: HeldPolls): Iterable<AccountRange> {
  const groups = new Map<string, Map<string, ReadonlySet<string>>>();
  for (const [accountId, appIds] of polls.accounts()) {
    const prefix = KEYS.account(accountId.slice(0, 1));
    const group = groups.get(prefix) ?? new Map<string, ReadonlySet<string>>();
    groups.set(prefix, group.set(accountId, appIds));
  }
  const keys = memory.appCount + RECORDS_PER_ACCOUNT * memory.accountCount;
  const pages = Math.ceil(keys / FIRST_LETTERS / PAGE_ENTRIES_MAX);
  for (const [prefix, accounts] of groups) {
    if (accounts.size > pages * ACCOUNTS_PER_PAGE) yield { prefix, accounts };
    else for (const one of accounts) yield { prefix: KEYS.account(one[0]), accounts: new Map([one]) };
  }
}

async function wakeChangedIn(
  { store, fleet: { memory } }: SilentWatchDeps,
  polls: HeldPolls,
  { prefix, accounts }: AccountRange,
  isOver: () => boolean,
): Promise<void> {
  const stored = new Map<string, number>();
  for await (const page of pagesOf(store, { prefix, limit: PAGE_ENTRIES_MAX, keysOnly: true })) {
    for (const { key, revision } of page.entries) stored.set(key, revision);
    if (isOver()) return;
  }
  const differs = (key: string): boolean => stored.get(key) !== memory.revisionOf(key);
  for (const [accountId, appIds] of accounts) {
    if (differs(KEYS.account(accountId)) || differs(KEYS.otel(accountId))) polls.wake(accountId, undefined);
    else for (const appId of appIds) if (differs(KEYS.app(accountId, appId))) polls.wake(accountId, appId);
  }
}
