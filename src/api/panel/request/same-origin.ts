import type { IncomingMessage } from 'node:http';
import { Refusal } from '../../../domain/refusal.ts';
import { fieldsOf } from '../../http/request-headers.ts';

/*
 * The panel answers under its own names alone, so that a name that somebody else points at it (DNS rebinding) gets
 * nothing, and it takes a write only from its own pages.
 */

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;

/**
 * Judges the Host of a request.
 * @param own the panel's public origin
 * @param isTls whether the listener itself speaks TLS
 * @returns the origin by which the browser knows the panel; undefined for a foreign host
 */
export function originOf(request: IncomingMessage, own: URL, isTls: boolean): string | undefined {
  const host = (request.headers.host ?? '').toLowerCase();
  if (host === own.host) return own.origin;
  // A literal loopback address reaches only a browser of this machine, or a forwarded port.
  return LOOPBACK.test(host) ? `http${isTls ? 's' : ''}://${host}` : undefined;
}

/**
 * Refuses a write that does not come from a page of the panel.
 * @param origin of the panel, by the request's Host
 * @throws Refusal `forbidden`, `invalid_request`
 */
export function refuseForeignWrite(request: IncomingMessage, origin: string): void {
  const [named, ...others] = fieldsOf(request, 'origin');
  const site = request.headers['sec-fetch-site'];
  if (named !== origin || others.length > 0 || (site !== undefined && site !== 'same-origin')) {
    throw new Refusal('forbidden', 'Only a page of the panel may send this.');
  }
  if (request.method === 'DELETE') return;
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new Refusal('invalid_request', 'The Content-Type must be application/json.');
  }
}

/** Refuses a read that another site makes a browser send. @throws Refusal `forbidden` */
export function refuseForeignRead(request: IncomingMessage): void {
  const site = request.headers['sec-fetch-site'];
  if (site === 'cross-site' || site === 'same-site') {
    throw new Refusal('forbidden', 'Only a page of the panel may ask for this.');
  }
}
