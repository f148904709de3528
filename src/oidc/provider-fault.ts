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

  constructor(reason: FaultReason, cause: unknown) {
    const codes = codesOf(cause);
    super(`The provider of sign-ins: ${[reason, ...codes].join(', ')}`);
    this.reason = reason;
    this.isFinal = reason === 'refused' && codes.includes('invalid_grant');
  }
}

/**
 * Does work that speaks to the provider.
 * @param otherwise what a fault is that is not known to be one of the network
 * @throws ProviderFault
 */
export async function guarded<T>(otherwise: FaultReason, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProviderFault) throw error;
    throw new ProviderFault(isOutage(error) ? 'unavailable' : otherwise, error);
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
