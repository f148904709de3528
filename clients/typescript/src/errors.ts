/** The codes that the client itself gives; every other code is one of the service's table of errors. */
export type ClientCode = 'network' | 'timeout' | 'aborted' | 'bad_answer' | 'invalid_argument';

/** What a `MusterError` is made of. */
export interface Trouble {
  readonly code: string;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
  readonly mayBeDone?: boolean | undefined;
}

/** The one class of errors that the clients throw. No part of it holds the secret of the client. */
export class MusterError extends Error {
  override readonly name = 'MusterError';
  /**
   * A code of the service's table, such as `not_found`, or one of the client's own: `network` (no answer), `timeout`
   * (none in time), `aborted` (the caller's signal), `bad_answer` (not from Muster, or too large) and
   * `invalid_argument` (nothing was sent).
   */
  readonly code: string;
  /** The status of the last answer; 0 where there was none. */
  readonly status: number;
  /** The id under which the service logs the request; `''` where nothing was sent, or no answer of Muster's named one. */
  readonly requestId: string;
  /** Seconds after which the service asks for the next try, where it told them. */
  readonly retryAfterSeconds: number | undefined;
  /** The request, or one of its attempts, may have been carried out all the same: an answer was lost, or came too late. */
  readonly mayBeDone: boolean;

  constructor(message: string, trouble: Trouble) {
    const { code, status = 0, requestId = '', retryAfterSeconds, cause, mayBeDone = false } = trouble;
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfterSeconds;
    this.mayBeDone = mayBeDone;
  }
}

/** The same error, of a request that may have been carried out. */
export function maybeDone(error: MusterError): MusterError {
  if (error.mayBeDone) return error;
  const { message, code, status, requestId, retryAfterSeconds, cause } = error;
  return new MusterError(message, { code, status, requestId, retryAfterSeconds, cause, mayBeDone: true });
}

export const invalidArgument = (message: string, cause?: unknown): MusterError =>
  new MusterError(message, { code: 'invalid_argument', cause });

/** An answer that is not as the document says. */
export const badAnswer = (words: string, { status, headers }: { readonly status: number; readonly headers: Headers }) =>
  new MusterError(words, { code: 'bad_answer', status, requestId: headers.get('x-request-id') ?? '' });

/** The caller's signal ended the call. */
export const aborted = (signal: AbortSignal, requestId?: string): MusterError =>
  new MusterError('The call was aborted by its signal.', {
    code: 'aborted',
    requestId,
    cause: signal.reason as unknown,
  });
