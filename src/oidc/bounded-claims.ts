/*
 * The identifiers of the provider that are stored and compared. OpenID Connect Core 1.0, 2: a subject is at most 255
 * characters of ASCII; a longer one, or one with other characters, is refused, and none is cut: two would become one.
 */

const IDENTIFIER = /^[\x20-\x7e]{1,255}$/;

/** @throws Error for a claim that is no subject */
export function subjectOf(claim: unknown): string {
  if (typeof claim !== 'string' || !IDENTIFIER.test(claim)) throw new Error('The token names nobody.');
  return claim;
}

/** The provider's own session; undefined where the token tells none. @throws Error for a claim that is no identifier */
export function sessionIdOf(claim: unknown): string | undefined {
  if (claim === undefined) return undefined;
  if (typeof claim !== 'string' || !IDENTIFIER.test(claim)) throw new Error('The sid of the token is not valid.');
  return claim;
}
