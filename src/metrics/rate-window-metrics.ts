import type { Registry } from 'prom-client';
import { callbackGauge, counterOf, plainCounter } from './instruments.ts';
import { RATE_ALLOTMENTS } from './labels.ts';

/** What the rate window that replicas share says of itself; as in service-metrics.ts, a module of verbs. */
export interface RateMetrics {
  rateSlice(what: (typeof RATE_ALLOTMENTS)[number]): void;
  /** A request waited for the store until it was admitted or refused. */
  rateWaited(): void;
  /** Asked whenever the metrics are. */
  rateSharedAge(read: () => number): void;
}

export function createRateMetrics(registry: Registry): RateMetrics {
  const registers = [registry];
  let age = (): number => 0;
  callbackGauge(
    registers,
    'muster_rate_shared_age_seconds',
    'For how long this replica has not been told what others write of the rate windows; 0 while it is.',
    () => age(),
  );
  return {
    rateSlice: counterOf(registers, {
      name: 'muster_rate_allotments_total',
      help: 'Parts of rate windows that this replica took ahead, settled in time, and settled after their end.',
      label: 'what',
      values: RATE_ALLOTMENTS,
    }),
    rateWaited: plainCounter(
      registers,
      'muster_rate_waited_total',
      'Requests that waited for the store to be admitted or limited.',
    ),
    rateSharedAge(read) {
      age = read;
    },
  };
}
