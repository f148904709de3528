/** The codes that the client itself gives; every other code is one of the service's table of errors. */
export type ClientCode = 'network' | 'timeout' | 'aborted' | 'bad_answer' | 'invalid_argument';

/** What a `MusterError` is made of. */
interface Trouble {
  readonly code: string;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
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
  /**
   * The id under which the service logs the request: as its answer names it, else as it was sent. `''` where nothing
   * was sent, and for pages that lead in a circle, which are several requests.
   */
  readonly requestId: string;
  /** The key of a create: sent again with it, the request is carried out once. Undefined where it had none. */
  readonly idempotencyKey: string | undefined;
  /** Seconds after which the service asks for the next try, where it told them. */
  readonly retryAfterSeconds: number | undefined;
  /**
   * The request, or one of its attempts, may have been carried out all the same: an answer was lost, or came too late.
   */
  readonly mayBeDone: boolean;

  constructor(message: string, trouble: Trouble) {
    const { code, status = 0, requestId = '', idempotencyKey, retryAfterSeconds, cause, mayBeDone = false } = trouble;
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.idempotencyKey = idempotencyKey;
    this.retryAfterSeconds = retryAfterSeconds;
    this.mayBeDone = mayBeDone;
  }
}

/** The same error, with what is known of the whole call. What the error says itself stays. */
export function completed(
  error: MusterError,
  { requestId, idempotencyKey, mayBeDone }: Required<Pick<MusterError, 'requestId' | 'idempotencyKey' | 'mayBeDone'>>,
): MusterError {
  const { message, code, status, retryAfterSeconds, cause } = error;
  const added = {
    requestId: error.requestId === '' ? requestId : error.requestId,
    idempotencyKey: error.idempotencyKey ?? idempotencyKey,
    mayBeDone: error.mayBeDone || mayBeDone,
  };
  const isSame =
    added.requestId === error.requestId &&
    added.idempotencyKey === error.idempotencyKey &&
    added.mayBeDone === error.mayBeDone;
  return isSame ? error : new MusterError(message, { code, status, retryAfterSeconds, cause, ...added });
}

export const invalidArgument = (message: string, cause?: unknown): MusterError =>
  new MusterError(message, { code: 'invalid_argument', cause });

/** The caller's signal ended the call. */
export const aborted = (signal: AbortSignal, requestId?: string): MusterError =>
  new MusterError('The call was aborted by its signal.', {
    code: 'aborted',
    requestId,
    cause: signal.reason as unknown,
  });
