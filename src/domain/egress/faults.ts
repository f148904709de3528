/** The stage at which a call ended without an answer. */
export const UNREACHED = [
  'name-not-found',
  'connection-refused',
  'no-route',
  'no-answer',
  'connection-broken',
] as const;

/** A call that has no answer; `says` are the words of TLS, printable ASCII of at most 200 characters. */
export type Unreached =
  | { readonly kind: 'unreached'; readonly why: (typeof UNREACHED)[number] }
  | { readonly kind: 'tls-fault'; readonly says: string };

const WHY: Readonly<Record<string, (typeof UNREACHED)[number]>> = {
  ENOTFOUND: 'name-not-found',
  EAI_AGAIN: 'name-not-found',
  EAI_FAIL: 'name-not-found',
  EAI_NODATA: 'name-not-found',
  EAI_NONAME: 'name-not-found',
  ECONNREFUSED: 'connection-refused',
  EHOSTUNREACH: 'no-route',
  ENETUNREACH: 'no-route',
  EADDRNOTAVAIL: 'no-route',
  EACCES: 'no-route',
  EPERM: 'no-route',
  ETIMEDOUT: 'no-answer',
};

/** The codes of Node and of OpenSSL's verification (X509_V_ERR_*) that tell of TLS. */
const OF_TLS =
  /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|INVALID_|PATH_LENGTH_|ERROR_IN_)/;

const SAYS_CHARACTERS_MAX = 200;

/** The fault of a call in the words that its owner is told: those of TLS, and none of this service's surroundings. */
export function faultOf(error: unknown): Unreached {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const { code = '', reason, message } = detailsOf(cause);
  if (!OF_TLS.test(code)) return { kind: 'unreached', why: WHY[code] ?? 'connection-broken' };
  // The message of OpenSSL's library itself has files and lines; the reason alone is for a reader.
  const words = (reason ?? message).replaceAll(/[^\x20-\x7e]+/g, ' ').trim();
  return { kind: 'tls-fault', says: words.slice(0, SAYS_CHARACTERS_MAX) };
}

interface Details {
  readonly code?: string;
  readonly reason?: string;
  readonly message: string;
}

function detailsOf(cause: unknown): Details {
  if (!(cause instanceof Error)) return { message: '' };
  return {
    ...('code' in cause && typeof cause.code === 'string' && { code: cause.code }),
    ...('reason' in cause && typeof cause.reason === 'string' && { reason: cause.reason }),
    message: cause.message,
  };
}
