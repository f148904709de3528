import type { IncomingMessage } from 'node:http';

/** Emitted on a request when the rest of its body can no longer be read. */
export const BODY_BROKEN: unique symbol = Symbol('body broken');

const broken = new WeakSet<IncomingMessage>();

/**
 * Tells the reader of this body that no more of it will come: its framing violates HTTP, or the client left in the
 * middle. Node would leave the reader waiting, or destroy the socket under the response that the request still gets
 * (H21).
 */
export function breakBody(request: IncomingMessage): void {
  broken.add(request);
  request.emit(BODY_BROKEN);
}

/** Tells whether `breakBody` was called for this request, perhaps before anybody read its body. */
export function isBodyBroken(request: IncomingMessage): boolean {
  return broken.has(request);
}
