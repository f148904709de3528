/** `unavailable`: it did not answer, or not as a provider does. `refused`: it, or the library, does not let in. */
type FaultReason = 'unavailable' | 'refused';

/**
 * A fault of the provider. Its message has codes alone: the provider's own words, and the texts that could not be read,
 * may hold what a person typed or a token.
 */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly reason: FaultReason;
  /** The grant is good no more: the same token or code will be refused again. */
  readonly isFinal: boolean;
  /** The provider has dealt with no token: it was not asked, or said that it did not. */
  readonly isUnasked: boolean;

  constructor(reason: FaultReason, cause: unknown, isUnasked = false) {
    const codes = codesOf(cause);
    super(`The provider of sign-ins: ${[reason, ...codes].join(', ')}`);
    this.reason = reason;
    this.isFinal = reason === 'refused' && codes.includes('invalid_grant');
    this.isUnasked = isUnasked;
  }
}

/**
 * Does work that speaks to the provider.
 * @param otherwise what a fault is that is not known to be one of the network
 * @param isUnasked judges whether the provider has dealt with no token
 * @throws ProviderFault
 */
export async function guarded<T>(
  otherwise: FaultReason,
  work: () => Promise<T>,
  isUnasked: (error: unknown) => boolean = () => false,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProviderFault) throw error;
    throw new ProviderFault(isOutage(error) ? 'unavailable' : otherwise, error, isUnasked(error));
  }
}

const CAUSES_MAX = 5;

function* chainOf(error: unknown): Iterable<Error> {
  let cause = error;
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth += 1) {
    yield cause;
    cause = cause.cause;
  }
}

/** The codes of the library, of OAuth (RFC 6749, 5.2) and of the network. */
function codesOf(error: unknown): readonly string[] {
  const codes = Array.from(chainOf(error)).flatMap((cause) => [
    'error' in cause ? cause.error : undefined,
    'code' in cause ? cause.code : undefined,
  ]);
  return codes.filter((code): code is string => typeof code === 'string' && /^[A-Za-z_]{1,60}$/.test(code));
}

/** The keys' address gave no answer in time, or one that is no set of keys. */
const NO_KEYS: ReadonlySet<string> = new Set(['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC']);
/** The provider says itself, by OAuth, that it is in trouble. */
const IN_TROUBLE: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable']);
const isOfTrouble = (status: number): boolean => status >= 500 || status === 429;

/** There was no connection, or the provider says by OAuth (RFC 6749, 5.2) that it is not the token that it refuses. */
const UNTOUCHED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'temporarily_unavailable',
  'invalid_client',
  'unauthorized_client',
  'invalid_request',
  'invalid_scope',
  'unsupported_grant_type',
]);
/** Not now: 503 and 429 are said before a request is dealt with. */
const isTurnedAway = (status: number): boolean => status === 503 || status === 429;

/** Whether a refresh token is as it was: a request for it has not been dealt with, for certain. */
export function isUntouched(error: unknown): boolean {
  if (codesOf(error).some((code) => UNTOUCHED.has(code))) return true;
  for (const cause of chainOf(error)) {
    if ('status' in cause) return isTurnedAway(Number(cause.status));
    if (cause.cause instanceof Response) return isTurnedAway(cause.cause.status);
  }
  return false;
}

/** No answer, or one of a server in trouble. */
function isOutage(error: unknown): boolean {
  if (codesOf(error).some((code) => NO_KEYS.has(code) || IN_TROUBLE.has(code))) return true;
  for (const cause of chainOf(error)) {
    if (cause.name === 'TimeoutError' || cause.name === 'AbortError' || cause instanceof RangeError) return true;
    if (cause instanceof TypeError && cause.message === 'fetch failed') return true;
    if ('status' in cause && isOfTrouble(Number(cause.status))) return true;
    if (cause.cause instanceof Response) return isOfTrouble(cause.cause.status);
  }
  return false;
}
