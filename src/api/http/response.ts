import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { ANSWER_WRITTEN } from './exchange-events.ts';
import type { OwedBytes } from './pieces/owed-bytes.ts';
import { PIECE_BYTES, writePieces } from './pieces/write-pieces.ts';

/** H17: no cache keeps an answer, and no proxy changes it: the compression of some changes its ETag, too. */
export const CACHE_CONTROL = 'no-store, no-transform';

/** H7: so many bytes of an unread body are drained, so that the client can read its response. */
export const DRAIN_BYTES_MAX = 1_048_576;
/** H7: the rest of a body is waited for so many milliseconds. */
export const DRAIN_MS = 1_000;

/**
 * Sends the whole response with its Content-Length; HEAD, 204 and 304 go without a body. Headers are an object or a
 * flat list of names and values, without Content-Length. The first response to a request wins: a second one, and one
 * whose client is gone, do nothing.
 *
 * While the request's body is still on its way, the response goes out at once and the end of the exchange waits for the
 * rest of the body, at most 1 MiB and 1 s of it (H7). By itself node would read such a rest without limit where the
 * connection stays open, and elsewhere reset the connection, often before the client has read the response.
 *
 * A body of more than `PIECE_BYTES` is written in pieces, each when the client has taken the one before.
 * @param owed counts a long body that the client has not taken; nothing does without it
 * @param principal who has authenticated; undefined for a stranger
 */
export function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders | readonly OutgoingHttpHeader[],
  body: string | Buffer | undefined,
  owed?: OwedBytes,
  principal?: string,
): void {
  if (response.headersSent || response.destroyed) return;
  const unread = bodyIsOnItsWay(request);
  if (unread && isNotReadToItsEnd(request, status)) response.shouldKeepAlive = false;
  // It was set for a connection that would stay open.
  if (!response.shouldKeepAlive) response.removeHeader('Keep-Alive');
  const lengthless = status === 204 || status === 304;
  const bytes = body === undefined ? 0 : Buffer.byteLength(body);
  response.writeHead(status, lengthless ? asGiven(headers) : withLength(headers, bytes));
  const content = lengthless || request.method === 'HEAD' ? undefined : body;
  if (content !== undefined && bytes > PIECE_BYTES) {
    const buffer = typeof content === 'string' ? bytesOf(response, content, owed) : content;
    return sendLong(response, buffer, unread, owed, principal);
  }
  // A text whose characters are one byte each is ASCII, for which node has a shorter way.
  if (!unread) response.end(content, bytes === content?.length ? 'latin1' : 'utf8');
  else endAfterRest(request, response, writerOf(response, content));
}

const bytesOf = (response: ServerResponse, text: string, owed: OwedBytes | undefined): Buffer =>
  owed?.bytesOf(response, text) ?? Buffer.from(text);

// A function of its own: what waits for the client must not keep the text of which the bytes were made.
function sendLong(
  response: ServerResponse,
  body: Buffer,
  unread: boolean,
  owed: OwedBytes | undefined,
  principal: string | undefined,
): void {
  const write = (written: () => void): void =>
    writePieces(response, body, owed?.begin(response, principal, body), written);
  // From here on it waits for the client alone.
  response.emit(ANSWER_WRITTEN);
  if (unread) endAfterRest(response.req, response, write);
  else write(() => response.end());
}

const writerOf =
  (response: ServerResponse, content: string | Buffer | undefined) =>
  (written: () => void): void =>
    writeWhole(response, content, written);

function writeWhole(response: ServerResponse, content: string | Buffer | undefined, written: () => void): void {
  if (content === undefined || content.length === 0) response.flushHeaders();
  else response.write(content);
  response.emit(ANSWER_WRITTEN);
  written();
}

const RUN = randomUUID().slice(0, 13);
let idsMade = 0;

/** An id that is unique and not secret. Random bytes for each request would cost noticeably more. */
export const freshId = (): string => `${RUN}-${(idsMade += 1).toString(36)}`;

/** The caller's X-Request-Id where H17 admits it, or a fresh one. */
export function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : freshId();
}

/** W3C Trace Context, `traceparent`: a later version than 00 may have more fields, after a hyphen. */
const TRACEPARENT =
  /^(?:00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}|(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-[^,]*)?)$/;
const TRACEPARENT_CHARACTERS_MAX = 512;
const ZEROS = /^0+$/;

/** The id of the trace that the caller's request belongs to; undefined where it names none, or in another form. */
export function traceIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const sent = headers['traceparent'];
  if (typeof sent !== 'string' || sent.length > TRACEPARENT_CHARACTERS_MAX) return undefined;
  const [, ofThis, parentOfThis, ofLater, parentOfLater] = TRACEPARENT.exec(sent) ?? [];
  const [traceId, parentId] = [ofThis ?? ofLater, parentOfThis ?? parentOfLater];
  if (traceId === undefined || parentId === undefined || ZEROS.test(traceId) || ZEROS.test(parentId)) return undefined;
  return traceId;
}

/** Tells whether the rest of a request's body has still to come. */
export function bodyIsOnItsWay(request: IncomingMessage): boolean {
  // This alone is not enough: a handler that responds at once runs before the parser sets it, even for a bare GET.
  if (request.complete) return false;
  const { headers } = request;
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}

function isNotReadToItsEnd(request: IncomingMessage, status: number): boolean {
  return status === 413 || Number(request.headers['content-length'] ?? 0) > DRAIN_BYTES_MAX;
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

function asGiven(headers: OutgoingHttpHeaders | readonly OutgoingHttpHeader[]): Headers {
  return headers as Headers;
}

function withLength(headers: OutgoingHttpHeaders | readonly OutgoingHttpHeader[], length: number): Headers {
  if (isList(headers)) return [...headers, 'Content-Length', length];
  return { ...headers, 'Content-Length': length };
}

function isList(
  headers: OutgoingHttpHeaders | readonly OutgoingHttpHeader[],
): headers is readonly OutgoingHttpHeader[] {
  return Array.isArray(headers);
}

/** @param write writes the body, and calls back once it is handed over */
function endAfterRest(request: IncomingMessage, response: ServerResponse, write: (written: () => void) => void): void {
  const { socket } = request;
  let drained = 0;
  let left = 2;
  const end = (): void => {
    left -= 1;
    if (left > 0) return;
    if (request.complete) response.end();
    else response.end(() => socket.destroySoon());
  };
  write(end);
  const count = (chunk: Buffer): void => {
    drained += chunk.length;
    // The timer closes the connection: once reading has stopped, the client has the rest of the second to read its
    // response.
    if (drained > DRAIN_BYTES_MAX) request.pause();
  };
  const finish = (): void => {
    clearTimeout(timer);
    request.off('data', count).off('end', finish);
    socket.off('end', finish);
    response.off('close', finish);
    end();
  };
  const timer = setTimeout(finish, DRAIN_MS);
  response.on('close', finish);
  // A body that broke off never ends, but its client may have ended its side of the connection.
  if (socket.readableEnded) finish();
  else {
    socket.on('end', finish);
    request.on('end', finish).on('data', count).resume();
  }
}
