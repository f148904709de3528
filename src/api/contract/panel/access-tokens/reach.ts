import type { BodyField, Operation } from '../../operation.ts';

/*
 * What an access token reaches follows from an operation's own values, so that a new one for signed-in users or
 * operators is closed to tokens by itself. The door and the OpenAPI document ask here alone.
 */

/**
 * Tells whether an access token may call the operation: one on an account, which needs no fresh proof as a whole.
 * Sessions, ways to sign in and access tokens belong to no account.
 */
export const isForTokens = ({ access, freshProof }: Pick<Operation, 'access' | 'freshProof'>): boolean =>
  (access === 'viewer' || access === 'owner') && freshProof !== true && freshProof !== 'or-new-sign-in';

/** Tells whether a body has a field that needs a fresh proof. */
export const hasProvedField = ({ freshProof }: Pick<Operation, 'freshProof'>, body: object): boolean =>
  Array.isArray(freshProof) && freshProof.some((field: BodyField<string>) => decides(field, body));

function decides(rule: BodyField<string>, body: object): boolean {
  if (typeof rule === 'object') return valueOf(body, rule.field) === rule.is;
  return valueOf(body, rule) !== undefined;
}

const valueOf = (body: object, field: string): unknown => new Map<string, unknown>(Object.entries(body)).get(field);
