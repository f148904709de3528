import type { IncomingMessage, ServerResponse } from 'node:http';
import { inTime } from '../../concurrency/in-time.ts';
import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import { countAttempt, type AttemptMetrics, type FailedAttempts } from '../../domain/access-audit/failed-attempts.ts';
import { BeyondRole, countRoleRefusal, type RoleRefusalMetrics } from '../../domain/access-audit/role-refusals.ts';
import type { Deadlines } from '../../domain/limits.ts';
import { requestFields, type Origin } from '../../domain/mutation/step.ts';
import { Busy, Refusal } from '../../domain/refusal.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import type { AwaitedBodies } from './awaited-bodies.ts';
import { AUTHENTICATED } from './exchange-events.ts';
import {
  errorBody,
  ERRORS,
  HttpRefusal,
  isAtQuota,
  NotAuthenticated,
  outageOf,
  quotaReply,
  RequestLate,
  retryAfterOf,
  waitOf,
  type ErrorCode,
} from './errors.ts';
import type { ExchangeMetrics } from './metrics.ts';
import type { WholeReply } from './reply.ts';
import type { OwedBytes } from './pieces/owed-bytes.ts';
import { CACHE_CONTROL, requestIdOf, sendResponse, traceIdOf } from './response.ts';
import { DATA_HEADERS } from '../headers/security-headers.ts';
import { sendPieces } from './stream.ts';

/** The surroundings that every exchange uses. */
export interface ExchangeDeps {
  readonly clock: Clock;
  readonly deadlines: Pick<Deadlines, 'requestMs'>;
  readonly log: Log;
  readonly metrics: ExchangeMetrics & AttemptMetrics & RoleRefusalMetrics;
  /** The address of a request's client, for the log. */
  readonly clientOf: (request: IncomingMessage) => string;
  /** Whether the client's connection is encrypted. */
  readonly cameByTls: (request: IncomingMessage) => boolean;
  /** A number in [0, 1) that spreads the retries of clients. */
  readonly jitter: () => number;
  /** Counts the failed secrets, and the refusals by role, that the audit tells of. */
  readonly attempts: Pick<FailedAttempts, 'failed'>;
  /** Bounds the bodies of authenticated requests that are waited for, on all listeners. */
  readonly awaitedBodies: AwaitedBodies;
  /** Bounds the long answers that clients do not take, on all listeners. */
  readonly owedBytes: OwedBytes;
}

const SLOW_SECONDS = 1;

/**
 * One request and its response: the headers that every response has (H17), its metrics, and the response to an error
 * (H15).
 */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** The template of the route, for metrics: never a path with an id in it. */
  route = '(none)';
  /** The error of an outage: some clients repeat a 503 alone (H15). */
  outage: 'upstream_unavailable' | 'unavailable' = 'upstream_unavailable';
  /** Headers that the response of this exchange gets from here on, as a flat list of names and values. */
  headers: readonly string[] = [];
  readonly #listener: string;
  readonly #deps: ExchangeDeps;
  readonly #startedAt: number;
  #storeMs = 0;
  #principal: string | undefined;
  /** The attempt, for the log. */
  #attempt: object | undefined;
  /** Why the answer is 502, for the log. */
  #unavailable: string | undefined;

  constructor(listener: string, request: IncomingMessage, response: ServerResponse, deps: ExchangeDeps) {
    this.#listener = listener;
    this.request = request;
    this.response = response;
    this.#deps = deps;
    this.#startedAt = deps.clock.monotonic();
    this.requestId = requestIdOf(request);
  }

  /** The address of the client, for the log. */
  get client(): string {
    return this.#deps.clientOf(this.request);
  }

  /**
   * The origin of a change, for the audit, with the deadline by which the store must have answered.
   * @param actor the principal that makes the request
   */
  origin(actor: string): Origin {
    const traceId = traceIdOf(this.request);
    return {
      actor,
      requestId: this.requestId,
      ...(traceId !== undefined && { traceId }),
      client: this.client,
      at: this.#deps.clock.now(),
      deadline: this.#deps.clock.monotonic() + this.#deps.deadlines.requestMs - this.#storeMs,
    };
  }

  get awaitedBodies(): AwaitedBodies {
    return this.#deps.awaitedBodies;
  }

  /** The error of a request that has no slot, as the listener rejects those above its bound. */
  overloaded(): Error {
    if (this.#listener !== 'api') return new HttpRefusal('overloaded');
    return new Busy('queue_full', 'No slot is free now that the body is there.');
  }

  /** The sender of the request; undefined until authentication has ended. */
  get principal(): string | undefined {
    return this.#principal;
  }

  /**
   * Marks the end of authentication: the time that it took counts against the time of the store.
   * @param principal the account, or the operator
   */
  authenticated(principal: string): void {
    this.#principal = principal;
    this.#storeMs = this.#deps.clock.monotonic() - this.#startedAt;
    this.response.emit(AUTHENTICATED, principal);
  }

  /**
   * H15: bounds the time that the store may take for this request, all in all; the client's time for its body is not
   * counted.
   * @param deadlineMs longer only for a route that bounds each of its many steps by a call of its own
   * @throws StoreUnavailable when the time is up; work that was begun may still happen, as after any outage
   */
  inTime<T>(work: Promise<T>, deadlineMs = this.#deps.deadlines.requestMs): Promise<T> {
    return inTime(work, Math.max(0, deadlineMs - this.#storeMs), () => new RequestLate());
  }

  /**
   * As `inTime`, for work that memory may answer at once: only a promise can be late.
   * @throws StoreUnavailable when the time is up
   */
  inTimeIfLate<T>(work: MaybePromise<T>): MaybePromise<T> {
    return work instanceof Promise ? this.inTime(work) : work;
  }

  /** Sends the whole response, once. @param code the error's code, for metrics */
  reply({ status, body, headers = [], cache = CACHE_CONTROL, safe }: WholeReply, code = ''): void {
    if (status === 401 || this.#attempt) this.#tellUnauthenticated(code);
    const content = isSendable(body) ? body : JSON.stringify(body);
    const all = this.#headers(headers, cache, safe);
    if (content !== undefined && !headers.includes('Content-Type')) all.push('Content-Type', 'application/json');
    sendResponse(this.request, this.response, status, all, content, this.#deps.owedBytes, this.#principal);
    this.#ended(status, code);
  }

  /**
   * Sends a long response in pieces; each is asked for when the client has taken those before.
   * @throws whatever the pieces throw; the connection is then closed under the response
   */
  async stream(headers: readonly string[], pieces: AsyncIterable<string>): Promise<void> {
    this.response.writeHead(200, this.#headers(headers));
    try {
      await sendPieces(this.response, pieces, this.#deps.owedBytes.begin(this.response, this.#principal));
    } finally {
      this.#ended(200, this.response.writableEnded ? '' : 'broken_off');
    }
  }

  /**
   * Begins a response without an end of its own, which the caller writes from here on. It counts as ended now: how long
   * it lasts says nothing of the service.
   */
  open(headers: readonly string[]): ServerResponse {
    this.response.writeHead(200, this.#headers(headers));
    this.response.flushHeaders();
    this.#ended(200, '');
    return this.response;
  }

  /**
   * Sends the response that an error stands for. An outage of the store, and work that is given up at a bound, are 502
   * (H15), and so is a replica that is configured wrongly; the log names the reason. Any other error is 502 and logged
   * as an error, since a person must act. A response that has begun is broken off.
   */
  fail(error: unknown): void {
    if (error instanceof NotAuthenticated) this.#attempt = countAttempt(error.attempt, this.client, this.#deps);
    if (error instanceof BeyondRole) countRoleRefusal(error, this.#principal ?? '', this.client, this.#deps);
    const isRefusal = error instanceof Refusal || error instanceof HttpRefusal;
    this.#unavailable = isRefusal ? undefined : outageOf(error);
    if (!isRefusal && this.#unavailable === undefined) {
      this.#deps.log.error({ err: error, ...this.#fields() }, 'unexpected fault');
    }
    // It was counted when it began, and its client must not take what it has for the whole.
    if (this.response.headersSent) return void this.response.destroy();
    if (error instanceof Refusal) return this.refuse(error.code, error.says, waitOf(error.retryAfterSeconds));
    if (error instanceof HttpRefusal) return this.refuse(error.code, error.says, error.headers);
    if (isAtQuota(error)) return this.reply(quotaReply(this.outage, error), 'quota');
    this.refuse(this.outage);
  }

  /** Responds with an error of the table. @param message replaces the sentence of the table */
  refuse(code: ErrorCode, message?: string, headers: readonly string[] = []): void {
    const { status } = ERRORS[code];
    const all = [...headers];
    // A browser knows no bearer, and the panel's pages need no prompt; a program with an access token has one.
    if (status === 401 && (this.#listener !== 'panel' || code === 'invalid_token'))
      all.push('WWW-Authenticate', 'Bearer');
    const retryAfter = retryAfterOf(code, this.#deps.jitter);
    if (retryAfter !== undefined && !headers.includes('Retry-After')) all.push('Retry-After', String(retryAfter));
    this.reply({ status, body: errorBody(code, message), headers: all }, code);
  }

  /** H17: those that every answer has, then its own. */
  #headers(own: readonly string[], cache = CACHE_CONTROL, safe = DATA_HEADERS): string[] {
    const { plain, encrypted } = safe;
    const secure = this.#deps.cameByTls(this.request) ? encrypted : plain;
    return ['Cache-Control', cache, 'X-Request-Id', this.requestId, ...secure, ...this.headers, ...own];
  }

  /** Whoever tries secrets is found by the address. An enrollment tells of its code itself, and why it is refused. */
  #tellUnauthenticated(code: string): void {
    if (code === 'invalid_code') return;
    const told = { listener: this.#listener, ...this.#fields(), reason: code || 'sign_in_failed', ...this.#attempt };
    this.#deps.log.info(told, 'not authenticated');
  }

  /** Counts a failed secret whose answer is none of its kind: a browser is led on, or told to wait. */
  attempted(attempt: NotAuthenticated['attempt']): void {
    this.#attempt = countAttempt(attempt, this.client, this.#deps);
  }

  /** The fields of a request in each line of the log. */
  #fields() {
    const { requestId, route, client, request } = this;
    const traceId = traceIdOf(request);
    const fields = requestFields({ requestId, ...(traceId !== undefined && { traceId }) });
    return { ...fields, method: request.method, route, client };
  }

  #ended(status: number, code: string): void {
    const seconds = (this.#deps.clock.monotonic() - this.#startedAt) / 1000;
    const { route, request } = this;
    const method = request.method ?? '';
    this.#deps.metrics.requestEnded({ listener: this.#listener, method, route, status, code, seconds });
    // Only slow and failed requests are logged. A held poll is meant to be slow.
    if (status < 500 && (seconds < SLOW_SECONDS || this.#listener === 'device')) return;
    const why = this.#unavailable === undefined ? {} : { reason: this.#unavailable };
    this.#deps.log.info(
      { listener: this.#listener, ...this.#fields(), status, code, seconds, ...why },
      'slow or failed',
    );
  }
}

const isSendable = (body: WholeReply['body']): body is string | Buffer | undefined =>
  body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
