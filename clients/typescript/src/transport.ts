import { errorOf, REQUEST_ID, requestIdOf, type Answer } from './answers.ts';
import { attempt, type Sent } from './attempt.ts';
import type { Connection } from './connection.ts';
import { aborted, completed, invalidArgument, MusterError } from './errors.ts';
import type { CallOptions, ClientOptions, Query } from './options.ts';
import { Pacer, type Turn } from './pacing.ts';
import { mayBeCarriedOut, outOfTime, verdictOn, waitAfter } from './retries.ts';
import { pause, systemTiming, type Timing } from './timing.ts';

/** One operation of an API, as a client asks for it. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query?: Query | undefined;
  readonly body?: object | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** It does no harm a second time: it is sent again where the answer was lost. */
  readonly repeatable: boolean;
  /** Milliseconds for one attempt beyond that of others: the service holds the request, or works on it, for so long. */
  readonly extraMs?: number | undefined;
  /** The body is handed over as it comes. */
  readonly asStream?: boolean | undefined;
  /** Told of an attempt that failed after so many milliseconds. What it returns is sent in the next one. */
  readonly afterFailure?: ((error: MusterError, tookMs: number) => Operation) | undefined;
  /** Sent in place of the client's secret; `''` for none. */
  readonly secret?: string | undefined;
}

const TIMEOUT_MS = 60_000;
const ATTEMPT_MS = 15_000;

/** Sends operations, and sends them again by the rules of `retries.ts`. */
export class Transport {
  readonly #connection: Connection;
  readonly #pacer: Pacer | undefined;
  readonly #fetch: typeof fetch;
  readonly #random: () => number;
  readonly timing: Timing;
  readonly #timeoutMs: number;
  readonly #attemptMs: number;
  readonly #onRetry: ClientOptions['onRetry'];

  constructor(connection: Connection, options: Omit<ClientOptions, 'url'>, { paced = false } = {}) {
    const { fetch = globalThis.fetch, random = Math.random, timing = systemTiming, onRetry } = options;
    this.#connection = connection;
    this.timing = timing;
    // A browser's fetch wants to be called as a function of the window.
    this.#fetch = (...request) => fetch(...request);
    this.#random = random;
    this.#timeoutMs = positive(options.timeoutMs ?? TIMEOUT_MS);
    this.#attemptMs = positive(options.attemptMs ?? ATTEMPT_MS);
    this.#onRetry = onRetry;
    this.#pacer = paced ? new Pacer(timing) : undefined;
  }

  /**
   * Resolves with an answer of 2xx or 304.
   * @throws MusterError
   */
  async send(operation: Operation, options: CallOptions = {}): Promise<Answer> {
    const { requestId = freshId(this.#random) } = options;
    if (!REQUEST_ID.test(requestId)) throw invalidArgument('The requestId is not 1 to 128 of A-Z a-z 0-9 . _ -');
    const idempotencyKey = operation.headers?.['idempotency-key'];
    const past: Past = { isSent: false, mayBeDone: false };
    try {
      return { ...(await this.#sent(operation, { ...options, requestId }, past)), idempotencyKey };
    } catch (error) {
      if (!(error instanceof MusterError)) throw error;
      const { isSent, mayBeDone } = past;
      throw completed(error, { requestId: isSent ? requestId : '', idempotencyKey, mayBeDone });
    }
  }

  async #sent(operation: Operation, options: Call, past: Past): Promise<Answer> {
    const { method, path, extraMs = 0 } = operation;
    const { signal, requestId } = options;
    const timeoutMs = positive(options.timeoutMs ?? this.#timeoutMs + extraMs);
    const attemptMs = this.#attemptMs + extraMs;
    const pieceMs = options.timeoutMs ?? this.#timeoutMs;
    let deadline: number | undefined;
    let next = operation;
    for (let attempts = 1; ; attempts += 1) {
      if (signal?.aborted === true) throw aborted(signal);
      // The first turn may be long in coming: all calls of a loop wait for it.
      const turn = await this.#pacer?.turn(signal, deadline === undefined ? undefined : deadline - this.timing.now());
      deadline ??= this.timing.now() + timeoutMs;
      const leftMs = deadline - this.timing.now();
      if (past.error && this.#pacer && !turn) throw outOfTime(timeoutMs, attempts - 1, past.error);
      const limitMs = Math.min(attemptMs, leftMs);
      const { answer, error } = await this.#once(next, { turn, requestId, limitMs, pieceMs, signal });
      if (answer) return answer;
      next = next.afterFailure?.(error, leftMs - (deadline - this.timing.now())) ?? next;
      // What failed before it was sent has no id.
      past.isSent ||= error.requestId !== '';
      if (error.code === 'not_found' && method === 'DELETE' && past.mayBeDone) return { ...GONE, requestId };
      past.mayBeDone ||= mayBeCarriedOut(error);
      const verdict = verdictOn(error);
      if (verdict === 'final' || (verdict === 'unknown' && !operation.repeatable)) throw error;
      // What was cut short by the end of the call tells less than the trouble before it.
      const isCutShort = error.code === 'timeout' && error.status === 0 && limitMs < attemptMs;
      if (!isCutShort || !past.error) past.error = error;
      const waitMs = waitAfter(error, attempts, this.#random);
      if (this.timing.now() + waitMs >= deadline) throw outOfTime(timeoutMs, attempts, past.error);
      this.#onRetry?.({ method, path, requestId, attempt: attempts, waitMs, error });
      await pause(this.timing, waitMs, signal);
    }
  }

  async #once(
    operation: Operation,
    { turn, requestId, limitMs, pieceMs, signal }: Once,
  ): Promise<
    { readonly answer: Answer; readonly error?: never } | { readonly answer?: never; readonly error: MusterError }
  > {
    let secret = '';
    const prepare = async (): Promise<Sent> => {
      secret = operation.secret ?? (await this.#connection.secret());
      return sentOf(operation, this.#connection, secret, requestId);
    };
    try {
      const answer = await attempt(prepare, {
        fetch: this.#fetch,
        timing: this.timing,
        requestId,
        limitMs: Math.max(1, limitMs),
        pieceMs,
        signal,
        asStream: operation.asStream,
      });
      turn?.answered(answer);
      const known = { ...answer, requestId: requestIdOf(answer.headers, requestId, secret) };
      const error = errorOf(known, secret);
      return error ? { error } : { answer: known };
    } catch (error) {
      turn?.answered(undefined);
      if (error instanceof MusterError) return { error };
      throw error;
    }
  }
}

/** What is known of the attempts of a call so far. */
interface Past {
  /** One of them bore the id of the request. */
  isSent: boolean;
  mayBeDone: boolean;
  /** The last trouble that says something. */
  error?: MusterError;
}

type Call = CallOptions & { readonly requestId: string };

interface Once {
  readonly turn: Turn | undefined;
  readonly requestId: string;
  readonly limitMs: number;
  readonly pieceMs: number;
  readonly signal: AbortSignal | undefined;
}

/** A DELETE was sent again after its answer was lost, and there is nothing left to delete. */
const GONE = { status: 204, headers: new Headers(), text: '' };

function sentOf(operation: Operation, connection: Connection, secret: string, requestId: string): Sent {
  const { method, path, query, body, headers = {} } = operation;
  return {
    url: connection.url(path, query),
    method,
    headers: {
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
      ...checkedHeaders(headers),
      'x-request-id': requestId,
      ...(secret !== '' && { authorization: `Bearer ${secret}` }),
    },
    body: body && jsonTextOf(body),
  };
}

/** @throws MusterError `invalid_argument` for what JSON cannot say, such as a bigint or a circle */
function jsonTextOf(body: object): string {
  try {
    return JSON.stringify(body);
  } catch (error) {
    throw invalidArgument('The body cannot be JSON.', error);
  }
}

/** What no header takes would be told by `fetch` as a broken connection. */
function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w-]+$/.test(name)) throw invalidArgument('The name of a header is none.');
    if (!/^[\x20-\x7e]*$/.test(value)) throw invalidArgument(`${name} has a character that no header takes.`);
  }
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function positive(ms: number): number {
  if (ms > 0) return ms;
  throw invalidArgument('A time limit is more than 0 ms.');
}

/** A random identifier, also where `crypto.randomUUID` is missing, as on a page that came by http. */
export function freshId(random: () => number): string {
  const { crypto } = globalThis as { crypto?: Partial<typeof globalThis.crypto> };
  if (crypto?.randomUUID) return crypto.randomUUID();
  const bytes = new Uint8Array(16);
  if (crypto?.getRandomValues) crypto.getRandomValues(bytes);
  else for (let at = 0; at < bytes.length; at += 1) bytes[at] = Math.floor(random() * 256);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
