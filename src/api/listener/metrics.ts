/**
 * Why a listener rejects: it is no request of HTTP (H21), or it is a request, a connection, or what one address has not
 * authenticated, above its bound.
 */
export const REJECTIONS = ['below_routing', 'request_bound', 'connection_bound', 'address_bound'] as const;
export type Rejection = (typeof REJECTIONS)[number];
