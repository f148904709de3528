/**
 * The reason why a rule refuses. The rules know these codes and no HTTP; src/api/http/errors.ts has the status and text
 * of each.
 */
export type RefusalCode =
  | 'invalid_key'
  | 'account_disabled'
  | 'not_found'
  | 'invalid_name'
  | 'limit_reached'
  | 'enterprise_required'
  | 'invalid_enabled'
  | 'invalid_endpoint'
  | 'invalid_auth_header'
  | 'invalid_evidence_level'
  | 'precondition_failed'
  | 'rate_limited'
  | 'invalid_code'
  | 'invalid_credential'
  | 'invalid_token'
  | 'invalid_request'
  | 'invalid_session'
  | 'sign_in_failed'
  | 'forbidden'
  | 'proof_required'
  | 'second_factor_required'
  | 'changed_meanwhile'
  | 'conflict';

/** A refusal is an ordinary result that is thrown. Its message, when given, replaces the general one of the code. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly says: string | undefined;
  /** Present where the time is known after which the same is not refused. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: RefusalCode, says?: string, { retryAfterSeconds }: { readonly retryAfterSeconds?: number } = {}) {
    super(says ?? code);
    this.code = code;
    this.says = says;
    this.retryAfterSeconds = retryAfterSeconds;
    // Refusals are control flow and many; a stack would be costly and nobody reads it.
    this.stack = '';
  }
}

/**
 * The bound that is used up. `late`: the request's deadline passed while it waited. `conflicts`: others changed the
 * record under every attempt. `queue_full`: the queue has as many requests as it may. `quota`: the account has used up
 * its quota (A16); the message is for the client.
 */
type BusyReason = 'late' | 'conflicts' | 'queue_full' | 'quota';

/**
 * An operation that is given up although the store answers, because a bound of this service is used up. Nothing was
 * written. The caller may try again: the HTTP answer is that of an outage of the store (H15), and the log names the
 * reason.
 */
export class Busy extends Error {
  override readonly name = 'Busy';
  /** A closed set, fit for a log field. */
  readonly reason: BusyReason;

  constructor(reason: BusyReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * This replica is configured wrongly, and a person must act. The HTTP answer is that of an outage (H15), and the log
 * has the sentence.
 */
export class ConfigurationFault extends Error {
  override readonly name = 'ConfigurationFault';
}

/** The fault of a key file that lacks a key in use. @param number of that key */
export const keyIsMissing = (number: number): ConfigurationFault =>
  new ConfigurationFault(`Key ${number} is in use, and not in the key file of this replica: add its line.`);
