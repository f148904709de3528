import { LISTENER_NAMES } from '../../config/listeners.ts';
import { OPEN, SECONDS } from '../../metrics/instruments/label-values.ts';
import type { Sections } from '../../metrics/instruments/sections.ts';
import { ERRORS } from './errors.ts';

/** Any other method is `other`: no content of a request becomes a label. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const;
const NAMED_METHODS: ReadonlySet<string> = new Set(METHODS);
const SUCCESSES = [200, 201, 202, 204, 304];
const STATUSES = new Set([...SUCCESSES, ...Object.values(ERRORS).map(({ status }) => status)].map(String));

/** A request whose answer is written, as metrics and log tell of it. */
interface EndedRequest {
  readonly listener: string;
  readonly method: string;
  /** The template, or `(none)`. */
  readonly route: string;
  readonly status: number;
  /** The error's; `''` where there is none. */
  readonly code: string;
  /** Since the request came. */
  readonly seconds: number;
}

/** The verb by which every exchange is counted and timed. */
export function exchangeMetrics({ requests }: Sections) {
  const durations = requests.histogram({
    name: 'muster_http_request_duration_seconds',
    help: 'Duration of requests, by listener, method, route template, status and error code; the code is empty without an error, and quota for a 502 of an account at its quota.',
    labels: {
      listener: LISTENER_NAMES,
      method: METHODS,
      route: OPEN,
      status: [...STATUSES].sort(),
      code: ['', ...Object.keys(ERRORS), 'quota', 'broken_off'],
    },
    buckets: SECONDS,
    unit: 'seconds',
  });
  return {
    requestEnded({ listener, method, route, status, code, seconds }: EndedRequest): void {
      const named = NAMED_METHODS.has(method) ? method : 'other';
      durations.observe({ listener, method: named, route, status: String(status), code }, seconds);
    },
  };
}
export type ExchangeMetrics = ReturnType<typeof exchangeMetrics>;
