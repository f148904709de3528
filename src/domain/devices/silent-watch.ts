import type { Log } from '../../log.ts';
import { PAGE_ENTRIES_MAX, StoreUnavailable, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Fleet } from '../fleet/fleet.ts';
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
const ACCOUNTS_AT_ONCE = 8;

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
    for (;;) {
      await clock.sleep(CHECK_EVERY_MS, stopping);
      if (stopping.aborted || polls().count === 0) break;
      try {
        const reader = await fleet.current();
        if (!reader.atOnce) await wakeChanged(deps, polls());
      } catch (error) {
        // While the store does not answer nothing is known of a change, and no poll could be authenticated. One that is
        // lost may never come back: the polls end as new ones do (A14).
        if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'held polls could not be checked');
        else if (error.reason === 'replaced') wakeAll(polls());
      }
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
  const accounts = polls.accounts()[Symbol.iterator]();
  const hasCaughtUp = deps.fleet.catchingUp();
  const worker = async (): Promise<void> => {
    for (let next = accounts.next(); next.done !== true; next = accounts.next()) {
      const [accountId, appIds] = next.value;
      // Memory that is being filled anew tells every held poll of it once it is whole, and a watch that was slow and not
      // silent has told them: else a busy store would be listed account by account because it is busy.
      if (!deps.fleet.memory.whole || hasCaughtUp()) return;
      await wakeChangedOf(deps, polls, accountId, appIds);
    }
  };
  await Promise.all(Array.from({ length: ACCOUNTS_AT_ONCE }, worker));
}

async function wakeChangedOf(
  { store, fleet }: SilentWatchDeps,
  polls: HeldPolls,
  accountId: string,
  appIds: ReadonlySet<string>,
): Promise<void> {
  const stored = await revisionsOf(store, accountId);
  const differs = (key: string): boolean => stored.get(key) !== fleet.memory.revisionOf(key);
  if (!fleet.memory.whole) return;
  if (differs(KEYS.account(accountId)) || differs(KEYS.otel(accountId))) return polls.wake(accountId, undefined);
  for (const appId of appIds) if (differs(KEYS.app(accountId, appId))) polls.wake(accountId, appId);
}

/** The revisions of an account's records by key: of 1000 apps and 200 keys at most, so two pages. */
async function revisionsOf(store: Store, accountId: string): Promise<ReadonlyMap<string, number>> {
  const revisions = new Map<string, number>();
  const prefix = KEYS.account(accountId);
  for (let after: string | undefined; ;) {
    const page = await store.list({
      prefix,
      limit: PAGE_ENTRIES_MAX,
      keysOnly: true,
      ...(after !== undefined && { after }),
    });
    for (const { key, revision } of page.entries) revisions.set(key, revision);
    if (page.next === undefined) return revisions;
    after = page.next;
  }
}
