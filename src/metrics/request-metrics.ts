import { Counter, Gauge, type Registry } from 'prom-client';
import type { RequestMetrics as ExchangeMetrics } from '../api/http/exchange.ts';
import { REJECTIONS, type Rejection } from '../api/listener/metrics.ts';
import type { RateDecisionMetrics } from '../api/v1/rate-limit.ts';
import { BufferedHistogram } from './buffered-histogram.ts';
import { lazyCounterOf, SECONDS } from './instruments.ts';
import { LISTENERS, RATE_DECISIONS, type ListenerLabel, type TlsListenerLabel } from './labels.ts';

/** The verbs of the listeners and of the account window. */
export interface RequestMetrics extends ExchangeMetrics, RateDecisionMetrics {
  requestShed(listener: ListenerLabel, why: Rejection): void;
  /** @param timestampSeconds since 1970 */
  certificateExpires(listener: TlsListenerLabel, timestampSeconds: number): void;
}

export function requestMetrics(registers: Registry[]): RequestMetrics {
  const requests = new BufferedHistogram({
    name: 'muster_http_request_duration_seconds',
    help: 'Requests by listener, route template, status and error code (empty when none), with their duration.',
    labelNames: ['listener', 'route', 'status', 'code'],
    buckets: SECONDS,
    registers,
  });
  const shed = new Counter({
    name: 'muster_http_rejected_total',
    help: 'Requests and connections turned away: below routing, or above a bound of the listener.',
    labelNames: ['listener', 'why'],
    registers,
  });
  for (const listener of LISTENERS) for (const why of REJECTIONS) shed.inc({ listener, why }, 0);
  const decided = lazyCounterOf(registers, {
    name: 'muster_rate_decisions_total',
    help: 'Decisions of the account rate window: admitted or limited.',
    label: 'decision',
    values: RATE_DECISIONS,
  });
  const expiry = new Gauge({
    name: 'muster_tls_certificate_expiry_timestamp_seconds',
    help: 'When the certificate that the listener presents expires; of a listener without TLS there is no series.',
    labelNames: ['listener'],
    registers,
  });
  return {
    certificateExpires: (listener, timestampSeconds) => expiry.set({ listener }, timestampSeconds),
    requestEnded: (listener, route, status, code, seconds) =>
      requests.of(listener, route, String(status), code).observe(seconds),
    requestShed: (listener, why) => shed.inc({ listener, why }),
    rateDecided: (admitted) => decided(admitted ? 'admitted' : 'limited'),
  };
}
