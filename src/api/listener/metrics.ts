import { LISTENER_NAMES, type ListenerName } from '../../config/listeners.ts';
import type { Sections } from '../../metrics/instruments/sections.ts';

/**
 * Why a listener rejects: it is no request of HTTP (H21), or it is a request, a connection, or what one address has not
 * authenticated, above its bound. `connection_evicted` rejects nothing that was asked: a connection at rest was closed
 * for a new one.
 */
const REJECTIONS = [
  'below_routing',
  'request_bound',
  'connection_bound',
  'connection_evicted',
  'address_bound',
] as const;
export type Rejection = (typeof REJECTIONS)[number];

export function listenerMetrics({ requests }: Sections) {
  const rejected = requests.labelledCounter({
    name: 'muster_http_rejected_total',
    help: 'Requests and connections that a listener rejected, because they were no HTTP or above a bound.',
    labels: { listener: LISTENER_NAMES, why: REJECTIONS },
    unit: 'requests',
  });
  for (const listener of LISTENER_NAMES) for (const why of REJECTIONS) rejected.inc({ listener, why }, 0);
  return {
    requestRejected: (listener: ListenerName, why: Rejection): void => rejected.inc({ listener, why }),
    requestsInFlight: requests.seriesCallbackGauge({
      name: 'muster_http_requests_in_flight',
      help: 'Requests whose answer has not left yet, by listener; held polls are among them.',
      labels: { listener: LISTENER_NAMES },
      unit: 'requests',
    }),
  };
}
