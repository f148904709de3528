import { recordPrice, type Price } from '../domain/metering/prices.ts';
import type { ClockWatch } from '../domain/status-history/clock-trust.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/port.ts';
import type { Clock } from '../time/clock.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';

interface PricesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly clockWatch: ClockWatch;
  readonly log: Log;
  /** The price of a daemon and month, as configured where this controller runs. */
  readonly price: Price;
}

const CHECK_EVERY_MS = 60_000;

/**
 * M5: records the leader's configured price, with the instant from which it holds, before a night is metered. The first
 * round of a term is at once; no night is metered while no price is on record. A round throws `StoreUnavailable`, and
 * Error where the price changed too often since the last metered night.
 */
export function pricesReconciler({ store, clock, clockWatch, log, price }: PricesDeps, { fence }: Term): Reconciler {
  return {
    name: 'prices',
    everyMs: CHECK_EVERY_MS,
    async reconcile() {
      // A price would begin to hold too late by a clock that is far ahead. No night is metered meanwhile either.
      if (!clockWatch.trusted()) return;
      const outcome = await recordPrice(store, price, clock.now(), fence);
      if (outcome === 'recorded') log.info({ ...price }, 'the price per daemon and month is on record');
    },
  };
}
