import type { Operation } from '../../operation.ts';

/*
 * The reach of an access token follows from an operation's own values, so that a new one for signed-in users or
 * operators is closed to tokens by itself. The door and the OpenAPI document ask here alone.
 */

/**
 * Tells whether an access token may call the operation: one on an account that needs no fresh proof. Where its state
 * alone asks for one, the operation refuses itself. Sessions, ways to sign in and access tokens belong to no account.
 */
export const isForTokens = ({ access, freshProof }: Pick<Operation, 'access' | 'freshProof'>): boolean =>
  (access === 'viewer' || access === 'owner') && (freshProof === undefined || freshProof === 'by-state');
