/** Why the rules say no. The rules know these codes and no HTTP; src/api/http/errors.ts gives each its status and words. */
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
  | 'rate_limited'
  | 'invalid_code'
  | 'invalid_credential'
  | 'invalid_token'
  | 'invalid_request';

/** A refusal is an ordinary answer on its way out. The message, when given, replaces the general one of the code. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly says: string | undefined;

  constructor(code: RefusalCode, says?: string) {
    super(says ?? code);
    this.code = code;
    this.says = says;
    // Refusals are control flow and many; a stack would be costly and nobody reads it.
    this.stack = '';
  }
}
