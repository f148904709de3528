import { MusterError } from '#client';
import { CLIENT } from '../../config/client-variables.ts';
import type { Address } from './address.ts';
import { fetchTo, OTHER_CERTIFICATE } from './fetch-to.ts';

/** The words of `fetch`, which has no code for them. */
const BAD_PORT = 'bad port';
const UNKNOWN_AUTHORITY = `its certificate is of an unknown authority, which a context names with --ca-file, or ${CLIENT.caFile}`;
/** How OpenSSL tells of an answer that is no TLS. */
const NO_TLS = 'wrong version number';
const WHY: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'no machine has that name',
  [BAD_PORT]: 'the port is one of another protocol, which `fetch` asks nothing of',
  [NO_TLS]: 'it does not speak TLS there: use http:// in place of https://',
  TimeoutError: 'it did not respond in time',
  ERR_PROXY_TUNNEL: 'the proxy makes no tunnel to it',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for other names: use one of them, or, on its machine, put that very certificate into the CA file',
  [OTHER_CERTIFICATE]:
    'its CA file has neither its certificate nor the authority; a service takes a renewed one within 10 s',
};

/** Tells in words why there was no response. */
export function unreachable({ url, from, proxy }: Address, error: unknown): string {
  const { name, cause = error } = error as Error;
  const { code, message } = cause as NodeJS.ErrnoException;
  // The code of an exception of the web platform is a number; those of OpenSSL differ with who asks.
  const words = [NO_TLS, BAD_PORT].find((known) => message.includes(known));
  const slip = words ?? (typeof code === 'string' ? code : name);
  const way = proxy === undefined ? '' : `; the way there is the proxy of ${proxy.from}`;
  return `The service at ${url} cannot be reached (${WHY[slip] ?? slip}${way}): start it, or change the address, which is from ${from}.`;
}

/* Failures that a repetition would only meet again: nobody listens, the name or the certificate is wrong, or no TLS. */
const LASTING = /^(?:ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ERR_PROXY_TUNNEL)/;
const TLS = /^(?:EPROTO$|ERR_SSL_|ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
/** Failures to reach a service that may pass by themselves. */
const PASSING = /^(?:EAI_AGAIN|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)/;

/**
 * `fetch` for an address, whose error of a service that is not reached names the address, where that is from, and the
 * remedy: the client's own words have none of them.
 * @param patient has what may pass tried again
 */
export function fetchNamed(address: Address, patient: boolean): typeof fetch {
  const own = fetchTo(address);
  // A certificate that has expired since is renewed; what was never right does not become so.
  let wasReached = false;
  return async (input, init) => {
    try {
      const answer = await own(input, init);
      wasReached = true;
      return answer;
    } catch (error) {
      const { code: told, message } = ((error as Error).cause ?? {}) as { code?: unknown; message?: unknown };
      const slip = typeof told === 'string' ? told : '';
      const isOfTls = TLS.test(slip);
      const isLasting = slip === '' ? message === BAD_PORT : isOfTls || LASTING.test(slip);
      if (!isLasting && !PASSING.test(slip)) throw error;
      // A call that ends with `network` is sent again, and a daemon goes on asking; but such a port is never asked.
      const isFinal = isLasting && (!patient || (isOfTls && !wasReached));
      const code = patient && slip === '' ? 'invalid_argument' : isFinal ? 'unreachable' : 'network';
      throw new MusterError(unreachable(address, error), { code, cause: error });
    }
  };
}
