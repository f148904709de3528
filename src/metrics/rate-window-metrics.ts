import type { Registry } from 'prom-client';
import { RATE_ALLOTMENTS, type RateWindowMetrics } from '../domain/rate-window/shared/metrics.ts';
import { callbackGauge, counterOf, plainCounter } from './instruments.ts';

export function createRateMetrics(registry: Registry): RateWindowMetrics {
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
