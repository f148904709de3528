import { CLIENT } from '../../config/client-variables.ts';
import type { Address } from './address.ts';
import { OTHER_CERTIFICATE } from './fetch-to.ts';

/** The words of `fetch`, which has no code for them. */
export const BAD_PORT = 'bad port';
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
