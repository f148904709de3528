import { MusterError } from '#client';
import type { Address } from './address.ts';
import { fetchTo } from './fetch-to.ts';
import { BAD_PORT, unreachable } from './unreachable.ts';

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
      // A call that ends with `network` is sent again; but to such a port nothing ever is.
      const isFinal = isLasting && (!patient || (isOfTls && !wasReached));
      const code = slip === '' ? 'invalid_argument' : isFinal ? 'unreachable' : 'network';
      throw new MusterError(unreachable(address, error), { code, cause: error });
    }
  };
}
