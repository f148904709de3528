import type { Log } from '../../../log.ts';
import type { Entry, Store } from '../../../store/port.ts';
import type { Clock } from '../../../time/clock.ts';
import { LIMITS, type Deadlines } from '../../limits.ts';
import { filled, type RateWindow } from '../local-window.ts';
import { AccountWindow } from './account-window.ts';
import { AgeExchange, type KnownReplicas } from './age-exchange.ts';
import type { RateWindowMetrics } from './metrics.ts';
import { RevisionClock } from './revision-clock.ts';
import { WINDOW_RULES, type WindowRules } from './rules.ts';
import { createStandstillCheck } from './standstill.ts';
import { WindowWatch } from './window-watch.ts';

export interface SharedRateWindow extends RateWindow {
  /** Watches the records of other replicas, and settles allotments in time, until the signal aborts. Never throws. */
  run(signal: AbortSignal): Promise<void>;
  /** Returns the allotments of this replica, as far as the store answers within 5 s. Never throws. */
  finish(): Promise<void>;
}

interface SharedRateWindowDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly deadlines: Pick<Deadlines, 'requestMs'>;
  readonly log: Log;
  readonly metrics: RateWindowMetrics;
  /** Names this process, from start to stop: no other process settles its leases. */
  readonly replicaId: string;
  readonly replicas: KnownReplicas;
  readonly rules?: WindowRules;
}

const ROUND_EVERY_MS = 500;
/** Longer than a unit counts: when an idle window is dropped, nothing in its record counts any more. */
const DROPPED_AFTER_MS = LIMITS.rateWindowMs + 10_000;
const FINISH_CONCURRENCY = 50;
const FINISH_MS = 5000;

/** H13 over replicas: the windows of all accounts on this replica. ADR 0016. */
export function createSharedRateWindow(deps: SharedRateWindowDeps): SharedRateWindow {
  const { clock, store, log, metrics, replicas, rules = WINDOW_RULES } = deps;
  const accounts = new Map<string, AccountWindow>();
  const stoodStill = createStandstillCheck(clock);
  let nonce = 0;
  const nextNonce = (): number => (nonce += 1);
  const forget = (): void => {
    for (const window of accounts.values()) window.forget();
  };
  const putBack = (): void => {
    for (const window of accounts.values()) window.wasPutBack();
  };
  const revisions = new RevisionClock(() => clock.monotonic());
  const exchange = new AgeExchange({ ...deps, rules, revisions, nextNonce, learnt: forget });
  const changed = (accountId: string, entry: Entry): void => accounts.get(accountId)?.observe(entry);
  const watch = new WindowWatch({ store, clock, log, revisions, exchange, changed, forget, putBack });
  function now(): number {
    if (stoodStill()) for (const window of accounts.values()) window.voidLeases();
    return clock.monotonic();
  }
  function doubted(): Promise<void> | undefined {
    watch.checkGap();
    return exchange.doubted;
  }
  const shared = { ...deps, rules, revisions, now, doubted, nextNonce, putBack };
  metrics.rateSharedAge(() => watch.ageSeconds());

  function windowOf(accountId: string): AccountWindow {
    let window = accounts.get(accountId);
    if (!window) accounts.set(accountId, (window = new AccountWindow(accountId, shared)));
    return window;
  }

  function round(): void {
    const at = now();
    for (const [accountId, window] of accounts) {
      if (window.isIdle(at, DROPPED_AFTER_MS)) accounts.delete(accountId);
      else window.round(at);
    }
  }

  async function rounds(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      round();
      await clock.sleep(ROUND_EVERY_MS, signal);
    }
  }

  return {
    charge(accountId) {
      const unregistered = replicas.unregistered();
      if (unregistered) throw unregistered;
      return windowOf(accountId).charge();
    },

    known: (accountId) => accounts.get(accountId)?.known.remaining(now()),

    fills() {
      const at = now();
      return filled(accounts, (window) => window.known.fill(at));
    },

    run: async (signal) => void (await Promise.all([watch.run(signal), rounds(signal)])),

    async finish() {
      const endBy = clock.monotonic() + FINISH_MS;
      const windows = accounts.values();
      const worker = async (): Promise<void> => {
        for (const window of windows) if (clock.monotonic() < endBy) await window.finish();
      };
      await Promise.all(Array.from({ length: FINISH_CONCURRENCY }, worker));
    },
  };
}
