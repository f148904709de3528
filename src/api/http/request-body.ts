import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import { systemClock } from '../../time/clock.ts';
import type { AwaitedBodies } from './awaited-bodies.ts';
import { BODY_BROKEN, isBodyBroken } from './broken-body.ts';
import { encodingOf, inflate, type Encoding, type InflateQueue } from './content-encoding.ts';
import { BODY_AWAITED, type BodyWait } from './exchange-events.ts';

/** The bounds of one body; times in milliseconds. */
export interface BodyLimits {
  /** The limit of the body as it is sent, and of the body after inflation. */
  readonly bytesMax: number;
  /** The longest wait for the next byte. */
  readonly stallMs: number;
  readonly totalMs: number;
  /** Bounds the bodies that are waited for at once. */
  readonly awaited?: AwaitedBodies;
  /** The limit of a compressed body as it is sent, where it is another one. */
  readonly compressedBytesMax?: number;
  /** The queue in which compressed bodies wait for their turn; without it they wait with those of all listeners. */
  readonly inflating?: InflateQueue;
  /** The body is no text: it is taken as it is. */
  readonly isBinary?: true;
}

/** H7 and H21. */
export const BODY_LIMITS: BodyLimits = { bytesMax: 65_536, stallMs: 10_000, totalMs: 30_000 };

/**
 * The result of reading a body. `bytes` are inflated, and, but for a binary body, UTF-8 and without a byte order mark;
 * `why` is a sentence for the client. `overloaded`: too many bodies were waited for, or no slot was free when this one
 * was there.
 */
type ReadBody =
  | { readonly kind: 'empty' }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'overloaded' }
  | { readonly kind: 'unreadable'; readonly why: string };

const EMPTY: ReadBody = { kind: 'empty' };
const TOO_LARGE: ReadBody = { kind: 'too_large' };
const OVERLOADED: ReadBody = { kind: 'overloaded' };
const UNKNOWN_ENCODING = unreadable('The Content-Encoding is not supported.');
const BROKE_OFF = unreadable('The body broke off.');
const TOO_SLOW = unreadable('The body did not come in time.');

/**
 * Reads the body of a request, once. Never holds more than the limit, and sends `100 Continue` only where the client
 * waits for it and the body will be read. `sendResponse` drains the part that is left unread.
 * @param principal who sends it, after authentication: without one no content encoding is known, since nothing is
 *   inflated for a stranger (H7)
 * @throws Busy where too many bodies of the principal wait to be inflated
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  principal: string | undefined,
  limits: BodyLimits = BODY_LIMITS,
): Promise<ReadBody> {
  const encoding = checkHead(request, limits);
  if (typeof encoding !== 'string') return Promise.resolve(encoding);
  if (encoding !== 'identity' && principal === undefined) return Promise.resolve(UNKNOWN_ENCODING);
  const sentMax = encoding === 'identity' ? limits.bytesMax : (limits.compressedBytesMax ?? limits.bytesMax);
  const contentOf = limits.isBinary ? binary : utf8;
  const decode = (raw: Buffer): MaybePromise<ReadBody> => {
    if (raw.length > sentMax) return TOO_LARGE;
    if (raw.length === 0) return EMPTY;
    if (encoding === 'identity' || principal === undefined) return contentOf(raw);
    return inflate(raw, encoding, { bytesMax: limits.bytesMax, principal, queue: limits.inflating }).then(contentOf);
  };
  // Most bodies have arrived when their request is authenticated.
  if (request.complete) return Promise.resolve(decode(readAll(request)));
  sendContinue(request, response);
  const wait: BodyWait = { takeSlot: () => true };
  response.emit(BODY_AWAITED, wait);
  return new Promise((resolve) => {
    collect(request, principal ?? '', { ...limits, bytesMax: sentMax }, (body) => {
      if (!Buffer.isBuffer(body)) resolve(body);
      else resolve(wait.takeSlot() ? decode(body) : OVERLOADED);
    });
  });
}

/**
 * Judges the head before a byte of the body is read.
 * @returns the encoding of the body, or the result where it is not to be read. Content-Length comes first (H7); the
 * parser has checked its digits
 */
function checkHead(request: IncomingMessage, limits: BodyLimits): ReadBody | Encoding {
  const { headers } = request;
  const length = Number(headers['content-length'] ?? 0);
  const transferEncoding = headers['transfer-encoding'];
  if (length > limits.bytesMax) return TOO_LARGE;
  if (length === 0 && transferEncoding === undefined) return EMPTY;
  if (transferEncoding !== undefined && transferEncoding.toLowerCase() !== 'chunked') {
    return unreadable('The Transfer-Encoding is not supported.');
  }
  const encoding = encodingOf(headers['content-encoding']);
  if (encoding === undefined) return UNKNOWN_ENCODING;
  if (encoding !== 'identity' && length > (limits.compressedBytesMax ?? limits.bytesMax)) return TOO_LARGE;
  return isBodyBroken(request) || request.destroyed ? BROKE_OFF : encoding;
}

function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  const { expect } = request.headers;
  if (expect === undefined || request.httpVersion !== '1.1' || response.headersSent) return;
  if (request.readableLength === 0 && /(?:^|\W)100-continue(?:$|\W)/i.test(expect)) response.writeContinue();
}

function readAll(request: IncomingMessage): Buffer {
  return (request.read() as Buffer | null) ?? Buffer.alloc(0);
}

/** A body without a length counts as much as the next of these steps, while it grows: most are small. */
const RESERVED_BYTES: readonly number[] = [16_384, 65_536, 262_144];

/** Gives the raw body, or why there is none. */
function collect(
  request: IncomingMessage,
  principal: string,
  limits: BodyLimits,
  give: (body: Buffer | ReadBody) => void,
): void {
  const length = request.headers['content-length'];
  const deadline = systemClock.monotonic() + limits.totalMs;
  let held: Buffer = Buffer.alloc(0);
  let bytes = 0;
  let reserved = 0;
  let takenAt = systemClock.monotonic();
  let settled = false;

  const take = (chunk: Buffer): void => {
    const before = bytes;
    bytes += chunk.length;
    if (bytes > limits.bytesMax) return giveUp(TOO_LARGE);
    takenAt = systemClock.monotonic();
    if (bytes > reserved) reserve();
    if (settled) return;
    // Most bodies are one chunk. Others may be chunks of a byte: the room doubles, so that each byte is copied twice at
    // most.
    if (before === 0) {
      held = chunk;
      return;
    }
    if (bytes > held.length) {
      const grown = Buffer.allocUnsafe(Math.max(bytes, Math.min(reserved, limits.bytesMax, 2 * held.length)));
      held.copy(grown, 0, 0, before);
      held = grown;
    }
    chunk.copy(held, before);
  };
  // One timer for both limits, which looks when the last chunk came: a timer a chunk would cost more than the chunk.
  const look = (): void => {
    const now = systemClock.monotonic();
    const dueMs = Math.min(takenAt + limits.stallMs, deadline) - now;
    if (dueMs <= 0) giveUp(TOO_SLOW);
    else timer = setTimeout(look, dueMs);
  };
  const end = (): void => {
    settled = true;
    clearTimeout(timer);
    arrived?.();
    const body = held.subarray(0, bytes);
    // The request's listeners live as long as the request, and its body need not.
    held = Buffer.alloc(0);
    give(body);
  };
  const giveUp = (body: ReadBody): void => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    arrived?.();
    held = Buffer.alloc(0);
    request.off('data', take).off('end', end);
    // The rest must wait in the socket and not flow past: `sendResponse` drains it, and counts.
    request.pause();
    give(body);
  };
  const breakOff = (): void => giveUp(BROKE_OFF);
  // A stranger's own slow bodies are not an error of the service.
  const givenUp = principal === '' ? TOO_SLOW : OVERLOADED;
  const reserve = (): void => {
    reserved =
      length === undefined ? (RESERVED_BYTES.find((step) => step >= bytes) ?? limits.bytesMax) : Number(length);
    arrived?.();
    arrived = limits.awaited?.await(principal, Math.min(reserved, limits.bytesMax), () => giveUp(givenUp));
  };

  let arrived: (() => void) | undefined;
  let timer = setTimeout(look, Math.min(limits.stallMs, limits.totalMs));
  request.on('data', take).on('end', end).on('close', breakOff).on(BODY_BROKEN, breakOff);
  reserve();
}

type Inflated = Awaited<ReturnType<typeof inflate>>;

function binary(bytes: Inflated): ReadBody {
  if (bytes === 'too_large') return TOO_LARGE;
  if (bytes === 'too_many') return OVERLOADED;
  if (bytes === 'corrupt') return unreadable('The body does not decompress.');
  return bytes.length === 0 ? EMPTY : { kind: 'bytes', bytes };
}

function utf8(inflated: Inflated): ReadBody {
  const body = binary(inflated);
  if (body.kind !== 'bytes') return body;
  const { bytes } = body;
  if (!isUtf8(bytes)) return unreadable('The body is not UTF-8.');
  return { kind: 'bytes', bytes: hasByteOrderMark(bytes) ? bytes.subarray(3) : bytes };
}

// RFC 8259, 8.1 lets a parser ignore the mark; JSON.parse does not.
function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function unreadable(why: string): ReadBody {
  return { kind: 'unreadable', why };
}

/** The result of parsing a body as one JSON object. */
type ParsedObject =
  | { readonly kind: 'object'; readonly value: Record<string, unknown> }
  | { readonly kind: 'not_json' }
  | { readonly kind: 'not_object' };

/**
 * Parses the bytes of `readBody` as one JSON object (H2); the last of several equal keys wins. The object has no
 * prototype, so that `value['constructor']` is the client's or undefined, and a key `__proto__` is a key like any other
 * (H5); objects inside it are ordinary, and are for a schema to read.
 */
export function parseJsonObject(bytes: Buffer): ParsedObject {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    return { kind: 'not_json' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { kind: 'not_object' };
  return { kind: 'object', value: { __proto__: null, ...value } };
}
