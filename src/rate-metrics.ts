import { Counter, Gauge, type Registry } from 'prom-client';

/** What the rate window that replicas share says of itself; as in metrics.ts, a module of verbs. */
export interface RateMetrics {
  rateSlice(what: 'taken' | 'returned' | 'expired'): void;
  /** A request waited for the store until it was admitted or refused. */
  rateWaited(): void;
  /** Asked whenever the metrics are. */
  rateSharedAge(read: () => number): void;
}

export function createRateMetrics(registry: Registry): RateMetrics {
  const registers = [registry];
  const slices = new Counter({
    name: 'muster_rate_slices_total',
    help: 'Parts of rate windows that this replica took ahead, settled in time, and settled after their end.',
    labelNames: ['what'],
    registers,
  });
  const waited = new Counter({
    name: 'muster_rate_waited_total',
    help: 'Requests that waited for the store to be admitted or limited.',
    registers,
  });
  let age = (): number => 0;
  const shared = new Gauge({
    name: 'muster_rate_shared_age_seconds',
    help: 'For how long this replica has not been told what others write of the rate windows; 0 while it is.',
    registers,
    collect() {
      this.set(age());
    },
  });
  shared.set(0);
  return {
    rateSlice: (what) => slices.inc({ what }),
    rateWaited: () => waited.inc(),
    rateSharedAge(read) {
      age = read;
    },
  };
}
