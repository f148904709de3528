import { LIMITS } from '../limits.ts';
import { parseHost, type Host } from './collector-host.ts';
import { reachOf } from './collector-reach.ts';

/** Each sentence says what is wrong and what to do. None repeats the value, in which a credential may be hidden. */
const FAULTS = {
  length: `endpoint is longer than ${LIMITS.endpointCharactersMax} characters; shorten it.`,
  characters:
    'endpoint may hold printable ASCII only; percent-encode the rest, and write a host name in its xn-- form.',
  shape: 'endpoint must begin with http:// or https:// and a host.',
  userinfo: 'endpoint must not hold credentials; remove what stands before "@" and send it as authHeader.',
  queryOrFragment: 'endpoint must have neither a query nor a fragment; remove "?" or "#" and what follows.',
  host: 'The host of endpoint must be a host name, a plain dotted IPv4 address, or an IPv6 address in brackets.',
  port: 'The port of endpoint must be 1 to 65535 without leading zeros; correct it, or leave it out with its colon.',
  path: 'The path of endpoint holds a character or percent escape that RFC 3986 does not allow; percent-encode it.',
  nowhere: 'The host of endpoint is an unspecified or multicast address; name the address of one collector.',
  publicHttp: 'Plain http: is for loopback and private hosts only; use https: for this one.',
} as const;

/**
 * Checks the collector's address (section 4.8, O4, O5). The raw string is checked against a grammar of our own,
 * since URL parsers repair and hide much of what they read; WHATWG's parser must agree with the result.
 *
 * @returns undefined when acceptable, else a sentence for the error message that never repeats the value
 */
export function endpointFault(endpoint: string): string | undefined {
  const surface = surfaceFault(endpoint);
  if (surface !== undefined) return surface;
  const parts = split(endpoint);
  if (parts === undefined) return FAULTS.shape;
  if (parts.authority.includes('@')) return FAULTS.userinfo;
  const [, spelledHost = '', port] = AUTHORITY.exec(parts.authority) ?? [];
  const host = parseHost(spelledHost);
  if (host === undefined) return FAULTS.host;
  if (port !== undefined && !isPort(port)) return FAULTS.port;
  if (!PATH.test(parts.path)) return FAULTS.path;
  if (!whatwgAgrees(endpoint, { scheme: parts.scheme, host, port })) return FAULTS.host;
  return reachFault(parts.scheme, host);
}

function surfaceFault(endpoint: string): string | undefined {
  if (endpoint.length > LIMITS.endpointCharactersMax) return FAULTS.length;
  if (!/^[\x21-\x7e]*$/.test(endpoint)) return FAULTS.characters;
  // The raw string is checked, because an empty query or fragment leaves no trace in a parsed URL.
  return /[?#]/.test(endpoint) ? FAULTS.queryOrFragment : undefined;
}

const PARTS = /^(https?):\/\/([^/]+)(.*)$/i;
/** `host[:port]`; `[::1]8443` must match nowhere. */
const AUTHORITY = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/;
const PORT = /^[1-9][0-9]{0,4}$/;
const PORT_MAX = 65_535;
/** RFC 3986: *( "/" *pchar ). */
const PATH = /^(?:\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})*)*$/;

function split(endpoint: string): { scheme: string; authority: string; path: string } | undefined {
  const [, scheme, authority = '', path = ''] = PARTS.exec(endpoint) ?? [];
  return scheme === undefined ? undefined : { scheme: scheme.toLowerCase(), authority, path };
}

function isPort(port: string): boolean {
  return PORT.test(port) && Number(port) <= PORT_MAX;
}

/**
 * A second opinion: an endpoint that the parser of daemons may read differently is refused, whichever is right. No such
 * string is known; the check is there in case one is found, in the grammar above or in a later WHATWG URL.
 */
function whatwgAgrees(endpoint: string, ours: { scheme: string; host: Host; port: string | undefined }): boolean {
  const url = URL.parse(endpoint);
  const host = url === null ? undefined : parseHost(url.hostname);
  if (url === null || host === undefined) return false;
  // WHATWG drops the scheme's own port.
  const port = ours.port === (ours.scheme === 'https' ? '443' : '80') ? '' : (ours.port ?? '');
  return (
    url.protocol === `${ours.scheme}:` &&
    url.port === port &&
    host.kind === ours.host.kind &&
    // An IPv6 address has many spellings, and WHATWG's parser changes the spelling.
    (host.kind === 'ipv6' ? reachOf(host) === reachOf(ours.host) : host.text === ours.host.text)
  );
}

function reachFault(scheme: string, host: Host): string | undefined {
  const reach = reachOf(host);
  if (reach === 'nowhere') return FAULTS.nowhere;
  return reach === 'public' && scheme === 'http' ? FAULTS.publicHttp : undefined;
}
