/** Why a listener rejects: it is no request of HTTP (H21), or it is a request, or a connection, above its bound. */
export const REJECTIONS = ['below_routing', 'request_bound', 'connection_bound'] as const;
export type Rejection = (typeof REJECTIONS)[number];
