/**
 * Why a listener rejects: it is no request of HTTP (H21), or it is a request, a connection, or what one address has not
 * authenticated, above its bound. `connection_evicted` rejects nothing that was asked: a connection at rest was closed
 * for a new one.
 */
export const REJECTIONS = [
  'below_routing',
  'request_bound',
  'connection_bound',
  'connection_evicted',
  'address_bound',
] as const;
export type Rejection = (typeof REJECTIONS)[number];
