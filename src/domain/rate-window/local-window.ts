import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { Clock } from '../../time/clock.ts';
import { LIMITS } from '../limits.ts';
import { LocalAccount, type KeptWindow } from './local-account.ts';
import type { RateDecision, RateLeft } from './rate-decision.ts';

export type { RateDecision, RateLeft } from './rate-decision.ts';

/** H13: at most 600 requests of an account in any 60 s, on one process or over all replicas. */
export interface RateWindow {
  /**
   * Charges one request. It is decided at once, or after a call of the store.
   * @throws StoreUnavailable; Busy when the decision comes too late, or too many requests of the account wait for it
   */
  charge(accountId: string): MaybePromise<RateDecision>;
  /**
   * The window without a charge, for the answer to a request that could not be decided (H14), as far as this replica
   * knows; undefined where it knows nothing of the last minute. It asks nobody.
   */
  known(accountId: string): RateLeft | undefined;
  /**
   * The fill of the windows of the accounts with requests in the last minute, each above 0 and up to 1, by account.
   */
  fills(): ReadonlyMap<string, number>;
}

/** The rate window of this process, with its upkeep. */
export interface RateWindowService {
  readonly window: RateWindow;
  /** Exchanges counts with other replicas until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Writes the counts that other replicas, or the next start, must know. Never throws. */
  finish(): Promise<void>;
}

/** The fills above 0, by account. */
export function filled<Window>(
  windows: ReadonlyMap<string, Window>,
  fillOf: (window: Window) => number,
): ReadonlyMap<string, number> {
  const fills = [...windows].map(([accountId, window]) => [accountId, fillOf(window)] as const);
  return new Map(fills.filter(([, fill]) => fill > 0));
}

/** Keeps the windows of one process through its crash. */
export interface WindowKeeper {
  /** Resolves when these windows are on disk, and those that are undefined are removed. @throws StoreUnavailable */
  keep(windows: ReadonlyMap<string, KeptWindow | undefined>): Promise<void>;
}

/** A request of an account whose window is being removed waits for it, so that is done in pieces. */
const FORGOTTEN_TOGETHER_MAX = 100;

/** Forgets the windows with the process. */
const NOT_KEPT: WindowKeeper = { keep: async () => undefined };

export interface LocalRateWindow extends RateWindow {
  /**
   * Adds units that were spent before this process began, by account, oldest first, as `Clock.monotonic` tells time.
   */
  restore(spent: ReadonlyMap<string, readonly number[]>): void;
  /**
   * Keeps every window as it is now, with nothing reserved. Call it while nothing is charged. @throws StoreUnavailable
   */
  save(): Promise<void>;
  /** Forgets windows that are over, in memory and on disk. @throws StoreUnavailable */
  forget(): Promise<void>;
}

/**
 * Creates the window of one process. Its decisions are exact: it has the instants of the last 60 s of each account in
 * memory. Before units are spent, a slice of them is kept: the first request of a slice waits for that (ADR 0031).
 */
export function createLocalRateWindow(clock: Pick<Clock, 'monotonic'>, keeper = NOT_KEPT): LocalRateWindow {
  const accounts = new Map<string, LocalAccount>();

  function accountOf(accountId: string): LocalAccount {
    let account = accounts.get(accountId);
    if (!account) {
      const keep = (window: KeptWindow | undefined): Promise<void> => keeper.keep(new Map([[accountId, window]]));
      accounts.set(accountId, (account = new LocalAccount({ clock, keep })));
    }
    return account;
  }

  return {
    charge: (accountId) => accountOf(accountId).charge(),

    // Whoever has no window here has spent nothing: those of the process before were restored.
    known: (accountId) => accounts.get(accountId)?.left() ?? { left: LIMITS.requestsPerWindowMax, freesInSeconds: 1 },

    fills() {
      const now = clock.monotonic();
      return filled(accounts, (account) => account.countAt(now) / LIMITS.requestsPerWindowMax);
    },

    restore(spent) {
      for (const [accountId, instants] of spent) accountOf(accountId).restore(instants);
    },

    async save() {
      const now = clock.monotonic();
      await keeper.keep(new Map([...accounts].map(([accountId, account]) => [accountId, account.settled(now)])));
    },

    async forget() {
      const now = clock.monotonic();
      const over = [...accounts].filter(([, account]) => account.isOver(now));
      for (let start = 0; start < over.length; start += FORGOTTEN_TOGETHER_MAX) {
        // A request may have come while the ones before were removed.
        const some = over.slice(start, start + FORGOTTEN_TOGETHER_MAX).filter(([, account]) => account.isOver(now));
        const gone = keeper.keep(new Map(some.map(([accountId]) => [accountId, undefined])));
        await Promise.all([gone, ...some.map(([, account]) => account.during(gone))]);
        for (const [accountId, account] of some) if (account.isOver(now)) accounts.delete(accountId);
      }
    },
  };
}
