import { STATUS_CODES, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { systemClock } from '../../time/clock.ts';
import { freshId, requestIdOf, sendResponse } from '../http/response.ts';

/** A response that is the same for everyone; the body is JSON. */
export interface FixedResponse {
  readonly status: number;
  readonly body: string;
}

/** Sends it in answer to a request. */
export function sendFixedResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body }: FixedResponse,
  more: OutgoingHttpHeaders,
): void {
  const headers = {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'X-Request-Id': requestIdOf(request),
    ...more,
  };
  sendResponse(request, response, status, headers, body);
}

/** It as bytes, for a connection on which there is no request to answer; it says that the connection closes. */
export function rawResponse({ status, body }: FixedResponse): string {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    'Cache-Control: no-store',
    `X-Request-Id: ${freshId()}`,
    `Date: ${new Date(systemClock.now()).toUTCString()}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
