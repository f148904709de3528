import { ERRORS } from '../api/http/errors.ts';
import type { RequestMetrics as ExchangeMetrics } from '../api/http/exchange.ts';
import { ATTEMPT_REASONS, CREDENTIAL_KINDS } from '../domain/access-audit/failed-attempts.ts';
import { SIGN_IN_BOUNDS, type SignInMetrics } from '../domain/sign-ins/metrics.ts';
import { REJECTIONS, type Rejection } from '../api/listener/metrics.ts';
import type { ReadGauges } from './callback-gauges.ts';
import { OPEN, SECONDS, type Section } from './instruments.ts';
import { LISTENERS, METHODS, methodLabel, type ListenerLabel } from './labels.ts';

export interface RequestMetrics extends ExchangeMetrics, SignInMetrics {
  requestRejected(listener: ListenerLabel, why: Rejection): void;
}

const SUCCESSES = [200, 201, 202, 204, 304];
const STATUSES = new Set([...SUCCESSES, ...Object.values(ERRORS).map(({ status }) => status)].map(String));

export function requestMetrics(section: (title: string) => Section, read: ReadGauges): RequestMetrics {
  const requests = section('Requests');
  const durations = requests.bufferedHistogram({
    name: 'muster_http_request_duration_seconds',
    help: 'Duration of requests, by listener, method, route template, status and error code; the code is empty without an error, and quota for a 502 of an account at its quota.',
    labels: {
      listener: LISTENERS,
      method: METHODS,
      route: OPEN,
      status: [...STATUSES].sort(),
      code: ['', ...Object.keys(ERRORS), 'quota', 'broken_off'],
    },
    buckets: SECONDS,
    unit: 'seconds',
  });
  const failures = requests.labelledCounter({
    name: 'muster_authentication_failures_total',
    help: 'Secrets that let nobody in, by kind and reason; wrong_secret is of a key that exists, once_valid a code that was valid.',
    labels: { credential: CREDENTIAL_KINDS, reason: ATTEMPT_REASONS },
    unit: 'requests',
  });
  for (const credential of CREDENTIAL_KINDS)
    for (const reason of ATTEMPT_REASONS) failures.inc({ credential, reason }, 0);
  const unjudged = requests.labelledCounter({
    name: 'muster_sign_ins_refused_total',
    help: 'Passwords that were not compared, by the bound that was reached: the name, the address, or the places for hashing.',
    labels: { bound: SIGN_IN_BOUNDS },
    unit: 'requests',
  });
  for (const bound of SIGN_IN_BOUNDS) unjudged.inc({ bound }, 0);
  const rejected = requests.labelledCounter({
    name: 'muster_http_rejected_total',
    help: 'Requests and connections that a listener rejected, because they were no HTTP or above a bound.',
    labels: { listener: LISTENERS, why: REJECTIONS },
    unit: 'requests',
  });
  for (const listener of LISTENERS) for (const why of REJECTIONS) rejected.inc({ listener, why }, 0);
  requests.labelledCallbackGauge(
    {
      name: 'muster_http_requests_in_flight',
      help: 'Requests whose answer has not left yet, by listener; held polls are among them.',
      labels: { listener: LISTENERS },
      unit: 'requests',
    },
    () => (read()?.inFlight() ?? []).map(([listener, count]) => [{ listener }, count] as const),
  );
  return {
    authenticationFailed: (credential, reason) => failures.inc({ credential, reason }),
    signInRefused: (bound) => unjudged.inc({ bound }),
    requestEnded: ({ listener, method, route, status, code, seconds }) =>
      durations.of(listener, methodLabel(method), route, String(status), code).observe(seconds),
    requestRejected: (listener, why) => rejected.inc({ listener, why }),
  };
}
