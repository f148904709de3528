import { pagesOf } from '../../store/pages.ts';
import { PAGE_ENTRIES_MAX, type Store } from '../../store/port.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import type { Pulse } from '../fleet/pulse.ts';
import { KEYS } from '../records/keys.ts';
import type { HeldPolls } from './held-polls.ts';

interface SilentWatchDeps {
  readonly store: Store;
  readonly fleet: Fleet;
}

const RANGES_AT_ONCE = 8;
/** The records of an account beside its apps, about. */
const RECORDS_PER_ACCOUNT = 5;
/** The characters of account ids, which are random. */
const FIRST_LETTERS = 36;
/** Listing a full page takes as long as listing so many accounts one by one, about. */
const ACCOUNTS_PER_PAGE = 8;

/**
 * The watch may be silent where memory is behind the store: the revisions of the accounts with held polls are listed,
 * and the polls whose app, account or configuration is another than in memory are woken. They are authenticated by the
 * store itself then. Where the store was lost, all of them are.
 * @returns begins the pulse; to be called when a first poll is held
 */
export const createSilentWatchCheck = (
  deps: SilentWatchDeps & { readonly pulse: Pulse },
  polls: () => HeldPolls,
): (() => void) =>
  deps.pulse.join({
    name: 'held polls',
    isThere: () => polls().count > 0,
    judge: () => wakeChanged(deps, polls()),
    storeLost: () => wakeAll(polls()),
  });

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
