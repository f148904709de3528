import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import { systemClock } from '../../time/clock.ts';
import { CACHE_CONTROL, freshId, requestIdOf, sendResponse } from '../http/response.ts';
import { DATA_HEADERS } from '../headers/security-headers.ts';

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
  { isEncrypted, more = [] }: { readonly isEncrypted: boolean; readonly more?: readonly string[] },
): void {
  sendResponse(request, response, status, [...headersOf(requestIdOf(request), isEncrypted), ...more], body);
}

/** H17: as every answer has them. */
function headersOf(requestId: string, isEncrypted: boolean): readonly string[] {
  const safe = isEncrypted ? DATA_HEADERS.encrypted : DATA_HEADERS.plain;
  return ['Content-Type', 'application/json', 'Cache-Control', CACHE_CONTROL, 'X-Request-Id', requestId, ...safe];
}

/** It as bytes, for a connection on which there is no request to answer; it says that the connection closes. */
export function rawResponse({ status, body }: FixedResponse, isEncrypted: boolean): string {
  const headers = headersOf(freshId(), isEncrypted);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : [])),
    `Date: ${new Date(systemClock.now()).toUTCString()}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
