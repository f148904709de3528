import { andThen } from '../../../concurrency/maybe-promise.ts';
import type { Log } from '../../../log.ts';
import type { Store } from '../../../store/port.ts';
import type { Clock } from '../../../time/clock.ts';
import { LIMITS, type Deadlines } from '../../limits.ts';
import type { RateDecision, RateWindow } from '../local-window.ts';
import { AccountWindow } from './account-window.ts';
import { createWall } from './clock-interval.ts';
import type { RateWindowMetrics } from './metrics.ts';
import { WINDOW_RULES, type WindowRules } from './rules.ts';
import { WindowWatch } from './window-watch.ts';

export interface SharedRateWindow extends RateWindow {
  /** Listens to what others write, and settles slices in time, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Gives back what is held, as far as the store answers in time. Never throws. */
  finish(): Promise<void>;
}

export interface SharedRateWindowDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly deadlines: Pick<Deadlines, 'requestMs'>;
  readonly log: Log;
  readonly metrics: RateWindowMetrics;
  /** Of this process, from start to stop: another one never answers for its holds. */
  readonly replicaId: string;
  readonly rules?: WindowRules;
}

const ROUND_EVERY_MS = 500;
/** Longer than a unit counts: what a window forgets by then, its record has forgotten too. */
const FORGOTTEN_AFTER_MS = LIMITS.rateWindowMs + 10_000;
const FINISH_AT_ONCE_MAX = 50;
const FINISH_MS = 5000;

/** H13 over replicas: the windows of all accounts on this one. ADR 0016. */
export function createSharedRateWindow(deps: SharedRateWindowDeps): SharedRateWindow {
  const { clock, store, log, metrics, rules = WINDOW_RULES } = deps;
  const accounts = new Map<string, AccountWindow>();
  const limitedAt = new Map<string, number>();
  const wall = createWall(clock);
  let nonce = 0;
  const shared = { ...deps, rules, wall, nextNonce: () => (nonce += 1) };
  const watch = new WindowWatch({
    store,
    clock,
    log,
    saw: (accountId, entry) => accounts.get(accountId)?.saw(entry),
    missed() {
      for (const window of accounts.values()) window.missed();
    },
  });
  metrics.rateSharedAge(() => watch.ageSeconds());

  function windowOf(accountId: string): AccountWindow {
    let window = accounts.get(accountId);
    if (!window) accounts.set(accountId, (window = new AccountWindow(accountId, shared)));
    return window;
  }

  function round(): void {
    const [now, monotonic] = [wall(), clock.monotonic()];
    for (const [accountId, window] of accounts) {
      if (window.isOver(now, FORGOTTEN_AFTER_MS)) accounts.delete(accountId);
      else window.round(now);
    }
    for (const [accountId, at] of limitedAt) if (monotonic - at >= LIMITS.rateWindowMs) limitedAt.delete(accountId);
  }

  async function rounds(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      round();
      await clock.sleep(ROUND_EVERY_MS, signal);
    }
  }

  return {
    charge(accountId) {
      const noted = (decision: RateDecision): RateDecision => {
        if (!decision.admitted) limitedAt.set(accountId, clock.monotonic());
        return decision;
      };
      return andThen(windowOf(accountId).charge(), noted);
    },

    fills() {
      const now = wall();
      return [...accounts.values()].map((window) => window.fill(now)).filter((ratio) => ratio > 0);
    },

    accountsLimitedLately() {
      const now = clock.monotonic();
      return [...limitedAt.values()].filter((at) => now - at < LIMITS.rateWindowMs).length;
    },

    run: async (signal) => void (await Promise.all([watch.run(signal), rounds(signal)])),

    async finish() {
      const endBy = clock.monotonic() + FINISH_MS;
      const held = accounts.values();
      const one = async (): Promise<void> => {
        for (const window of held) if (clock.monotonic() < endBy) await window.finish();
      };
      await Promise.all(Array.from({ length: FINISH_AT_ONCE_MAX }, one));
    },
  };
}
