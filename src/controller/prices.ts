import { recordPrice, type Price } from '../domain/metering/prices.ts';
import type { ClockWatch } from '../domain/status-history/clock-trust.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/port.ts';
import type { Clock } from '../time/clock.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';

export interface PricesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly clockWatch: ClockWatch;
  readonly log: Log;
  /** What a daemon costs a month, as configured where this controller runs. */
  readonly price: Price;
}

const LOOK_EVERY_MS = 60_000;

/**
 * M5: the leader's configured price is on record before a night is metered, with the instant from which it holds. The
 * first round of a term is at once; no night is metered while nothing is on record.
 */
export function pricesReconciler({ store, clock, clockWatch, log, price }: PricesDeps, { fence }: Term): Reconciler {
  return {
    name: 'prices',
    everyMs: LOOK_EVERY_MS,
    async reconcile() {
      // By a clock that is far ahead it would begin to hold too late. Nor is a night metered meanwhile.
      if (!clockWatch.trusted()) return;
      const outcome = await recordPrice(store, price, clock.now(), fence);
      if (outcome === 'recorded') log.info({ ...price }, 'the price per daemon and month is on record');
    },
  };
}
