import type { MusterError } from './errors.ts';
import type { Timing } from './timing.ts';

/** A secret, or what tells it: a function is asked before each attempt, so that a renewed secret is taken at once. */
export type SecretSource = string | (() => string | Promise<string>);

/** Told before the client waits and sends a request again. */
export interface RetryEvent {
  readonly method: string;
  readonly path: string;
  readonly requestId: string;
  /** The attempt that failed; the first is 1. */
  readonly attempt: number;
  /** Milliseconds until the next attempt. */
  readonly waitMs: number;
  readonly error: MusterError;
}

/** What every client takes, beside its secret. */
export interface ClientOptions {
  /** The address of the listener, such as `http://127.0.0.1:8080`; a path before the API's own is kept. */
  readonly url: string;
  /**
   * Milliseconds that a call may take, retries included, once it has its first turn within the rate (60,000). Of a
   * stream it bounds what comes before the body, and then the wait for each next piece.
   */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds that one attempt may take (15,000); operations that the service takes longer for have more. */
  readonly attemptMs?: number | undefined;
  /** Called before each retry. It must not throw. */
  readonly onRetry?: ((event: RetryEvent) => void) | undefined;
  /** Used in place of the global one. */
  readonly fetch?: typeof fetch | undefined;
  /** A number from 0 to below 1, for jitter. */
  readonly random?: (() => number) | undefined;
  readonly timing?: Timing | undefined;
}

/** What every call takes. */
export interface CallOptions {
  /** Ends the call at once, whatever it waits for. */
  readonly signal?: AbortSignal | undefined;
  /** 1 to 128 characters of `A-Z a-z 0-9 . _ -`, the same for all attempts; a fresh one by default. */
  readonly requestId?: string | undefined;
  /** In place of the client's own, in milliseconds; nothing is added to it for what takes longer, as a held poll. */
  readonly timeoutMs?: number | undefined;
}

/** What a call takes that creates something. */
export interface CreateOptions extends CallOptions {
  /** 1 to 255 printable ASCII characters; for 24 hours the same key gets the same answer. A fresh one by default. */
  readonly idempotencyKey?: string | undefined;
}

/** What a call takes that changes what somebody else may have changed meanwhile. */
export interface ConditionalOptions extends CallOptions {
  /**
   * The `etag` over which alone the change is made: it is refused with `precondition_failed` where another one is
   * stored. A change whose own answer was lost is refused so as well; `mayBeDone` of the error tells of it.
   */
  readonly ifMatch?: string | undefined;
}

/** Any request, for what has no method of its own. */
export interface GenericRequest {
  readonly method: string;
  /** From its slash on; it may have a query. */
  readonly path: string;
  readonly query?: Query | undefined;
  /** Sent as JSON. */
  readonly body?: object | undefined;
  /** `authorization` and `x-request-id` are the client's own, and replaced. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The answer of a generic request that succeeded. */
export interface GenericAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON where the answer is JSON, else the text; undefined where it has no body. */
  readonly body: unknown;
}

/** The parameters of a query; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;
