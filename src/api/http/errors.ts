import type { FailedAttempt } from '../../domain/access-audit/failed-attempts.ts';
import { Busy, ConfigurationFault, Refusal, type RefusalCode } from '../../domain/refusal.ts';
import { StoreUnavailable } from '../../store/port.ts';

interface ErrorRow {
  readonly status: number;
  readonly message: string;
  /** Seconds of `Retry-After`, spread over the range, for a refusal that names no time of its own. */
  readonly retryAfter?: readonly [from: number, to: number];
}

/**
 * Section 7 of the specification, and the errors of the device and operator listeners: the only place where a status is
 * written. A refusal without a row, or a row without a refusal, does not compile.
 */
export const ERRORS = {
  invalid_key: { status: 401, message: 'The API key is missing, malformed, unknown or revoked.' },
  account_disabled: { status: 401, message: 'The account is disabled.' },
  not_found: { status: 404, message: 'No such endpoint, or no such record in this account.' },
  invalid_name: { status: 400, message: 'name must be a string of at most 100 characters.' },
  limit_reached: { status: 400, message: 'The account already has 1000 apps; delete one first.' },
  enterprise_required: { status: 403, message: 'The account has no Enterprise entitlement.' },
  invalid_enabled: { status: 400, message: 'enabled is required and must be true or false.' },
  invalid_endpoint: { status: 400, message: 'endpoint is missing or is no acceptable collector address.' },
  invalid_auth_header: {
    status: 400,
    message: 'authHeader must be a string of at most 8192 printable ASCII characters.',
  },
  invalid_evidence_level: { status: 400, message: 'evidenceLevel must be hashes, redacted or full.' },
  precondition_failed: {
    status: 412,
    message: 'The stored configuration is none that If-Match names; read it, and decide again.',
  },
  payload_too_large: { status: 413, message: 'The request body is larger than 65536 bytes.' },
  rate_limited: { status: 429, message: 'Too many requests; slow down and retry after the time in Retry-After.' },
  upstream_unavailable: { status: 502, message: 'Temporarily unavailable; retry later.', retryAfter: [1, 5] },
  // The device listener.
  invalid_code: { status: 401, message: 'The app ID or the enrollment code is wrong, used, expired or voided.' },
  invalid_credential: {
    status: 401,
    message: 'The credential is missing, malformed, unknown or revoked; enroll again with a new code.',
    // A revoked daemon keeps retrying, and need not do so often.
    retryAfter: [1800, 3600],
  },
  overloaded: { status: 503, message: 'Too many requests at once; retry later.', retryAfter: [1, 5] },
  // OpAMP: its agents repeat a 503, and drop what any other outage was the answer to.
  unavailable: { status: 503, message: 'Temporarily unavailable; retry later.', retryAfter: [5, 30] },
  // The operator and the device listener.
  invalid_request: { status: 400, message: 'The request is not valid.' },
  invalid_token: { status: 401, message: 'The operator token, or the access token, is missing or wrong.' },
  // The panel.
  invalid_session: { status: 401, message: 'You are not signed in, or your session has ended; sign in again.' },
  sign_in_failed: { status: 401, message: 'The sign-in failed: the name or the secret is wrong.' },
  forbidden: { status: 403, message: 'Your role, or your API key, does not allow this.' },
  proof_required: {
    status: 403,
    message:
      'Prove who you are first: this needs a password, a passkey or a sign-in at the provider of the last 10 minutes.',
  },
  second_factor_required: {
    status: 403,
    message: 'A second factor is required here: add a passkey, or sign in with yours.',
  },
  changed_meanwhile: { status: 409, message: 'Somebody else has changed this meanwhile; look at it again.' },
  conflict: { status: 409, message: 'What is there already does not allow this.' },
} as const satisfies Record<
  RefusalCode | 'payload_too_large' | 'upstream_unavailable' | 'unavailable' | 'overloaded',
  ErrorRow
>;

/** A refusal that tells what was tried. To the client it is like any other of its code. */
export class NotAuthenticated extends Refusal {
  readonly attempt: FailedAttempt;

  constructor(
    code: 'invalid_key' | 'invalid_credential' | 'invalid_token' | 'sign_in_failed' | 'invalid_request',
    attempt: FailedAttempt,
    says?: string,
  ) {
    super(code, says);
    this.attempt = attempt;
  }
}

/** The codes of all errors that a response may have. */
export type ErrorCode = keyof typeof ERRORS;

/**
 * An error that the domain does not know and that has a code of its own: the size of a body, the load of a listener.
 */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly code: ErrorCode;
  readonly headers: readonly string[];
  /** Replaces the sentence of the table. */
  readonly says: string | undefined;

  constructor(code: ErrorCode, headers: readonly string[] = [], says?: string) {
    super(code);
    this.code = code;
    this.headers = headers;
    this.says = says;
    this.stack = '';
  }
}

/** The JSON text of an error. @param message replaces the sentence of the table */
export const errorBody = (code: ErrorCode, message: string = ERRORS[code].message): string =>
  JSON.stringify({ error: { code, message } });

/**
 * The `Retry-After` of a row in seconds, at random from its range, so that clients that were refused together do not
 * return together.
 * @param random gives a number in [0, 1)
 */
export function retryAfterOf(code: ErrorCode, random: () => number): number | undefined {
  const row: ErrorRow = ERRORS[code];
  if (!row.retryAfter) return undefined;
  const [from, to] = row.retryAfter;
  return from + Math.floor(random() * (to - from + 1));
}

/** The field that tells when to come again; none where that is not known. */
export const waitOf = (seconds: number | undefined): readonly string[] =>
  seconds === undefined ? [] : ['Retry-After', String(seconds)];

/** A person raises a quota: nobody need ask again before. */
const QUOTA_RETRY_SECONDS = 3600;

export const isAtQuota = (error: unknown): error is Busy => error instanceof Busy && error.reason === 'quota';

/** A16: the answer of an outage, in words. To the metrics it is no outage, but `quota`. */
export const quotaReply = (outage: ErrorCode, { message }: Busy) => ({
  status: ERRORS[outage].status,
  body: errorBody(outage, message),
  headers: waitOf(QUOTA_RETRY_SECONDS),
});

/** The time of a request is up: it waited for a store that hangs, or in a queue of this process. */
export class RequestLate extends StoreUnavailable {
  constructor() {
    super('timeout', 'The store did not answer within the deadline.');
  }
}

/** The reason of an outage, for the log; undefined where the error is none that is foreseen. */
export function outageOf(error: unknown): string | undefined {
  if (error instanceof RequestLate) return 'late';
  if (error instanceof StoreUnavailable) return `store: ${error.reason}`;
  if (error instanceof Busy) return `busy: ${error.reason}`;
  return error instanceof ConfigurationFault ? `configuration: ${error.message}` : undefined;
}
