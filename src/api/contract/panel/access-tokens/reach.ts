import type { Operation } from '../../operation.ts';

/*
 * The reach of an access token follows from an operation's own values, so that a new one for signed-in users or
 * operators is closed to tokens by itself. The door and the OpenAPI document ask here alone.
 */

/**
 * Tells whether an access token may call the operation: one on an account, which needs no fresh proof as a whole.
 * Sessions, ways to sign in and access tokens belong to no account.
 */
export const isForTokens = ({ access, freshProof }: Pick<Operation, 'access' | 'freshProof'>): boolean =>
  (access === 'viewer' || access === 'owner') && freshProof !== true && freshProof !== 'or-new-sign-in';
