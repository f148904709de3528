import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';
import { addressOf, isIn, rangesOf, type AddressRange } from '../../text/ip-addresses.ts';
import { fieldsOf } from './request-headers.ts';
import { isEncrypted } from '../headers/security-headers.ts';

/** Entries of X-Forwarded-For that are looked at, from the right: a chain of proxies is shorter. */
const HOPS_MAX = 16;

/** The headers by which proxies show that they are between. */
const FORWARDING = ['x-forwarded-for', 'forwarded', 'via'] as const;

/**
 * The proxies whose X-Forwarded-For is believed (`MUSTER_TRUSTED_PROXIES`). Every request asks for its client, so the
 * list is Node's own: with that of the package the answer took 4.7 µs of processor time instead of 0.9.
 */
export class TrustedProxies {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;
  readonly #sites = new WeakMap<Socket, string>();

  constructor(ranges: readonly AddressRange[]) {
    for (const [first, bits] of ranges) this.#list.addSubnet(first.toString(), bits, first.kind());
    this.#isEmpty = ranges.length === 0;
  }

  /** @param address undefined for a connection that is gone */
  has(address: string | undefined): boolean {
    if (this.#isEmpty || address === undefined) return false;
    const plain = plainAddress(address);
    const family = isIP(plain);
    return family !== 0 && this.#list.check(plain, family === 6 ? 'ipv6' : 'ipv4');
  }

  /**
   * The address of the client: the peer's, or, where that is a trusted proxy, the rightmost address of X-Forwarded-For
   * that is none. What stands to the left of it is the client's own word. A proxy that names nobody is the client.
   */
  clientOf(request: IncomingMessage): string {
    let client = plainAddress(request.socket.remoteAddress ?? '');
    if (!this.has(client)) return client;
    const hops = fieldsOf(request, 'x-forwarded-for').join(',').split(',').slice(-HOPS_MAX);
    for (const hop of hops.toReversed()) {
      const address = addressIn(hop);
      if (address === undefined) return client;
      client = address;
      if (!this.has(client)) return client;
    }
    return client;
  }

  /**
   * The widest network of the client, a /24 or a /48; undefined where its address is not known: a proxy stands between
   * that is not trusted, or that names nobody.
   */
  siteOf(request: IncomingMessage): string | undefined {
    const { socket } = request;
    if (this.has(socket.remoteAddress)) {
      const client = this.clientOf(request);
      return this.has(client) ? undefined : networksOf(client).at(-1);
    }
    if (FORWARDING.some((name) => request.headers[name] !== undefined)) return undefined;
    // A connection has one site, and may bring very many polls.
    const known = this.#sites.get(socket);
    if (known !== undefined) return known;
    const site = networksOf(socket.remoteAddress ?? '').at(-1) ?? '';
    // A connection that is gone has none.
    if (!site.includes('/')) return undefined;
    this.#sites.set(socket, site);
    return site;
  }

  /** Whether the client's connection is encrypted: this one is, or a trusted proxy says so of the one before it. */
  cameByTls(request: IncomingMessage): boolean {
    if (isEncrypted(request.socket)) return true;
    if (!this.has(request.socket.remoteAddress)) return false;
    return fieldsOf(request, 'x-forwarded-proto').join(',').split(',').at(-1)?.trim().toLowerCase() === 'https';
  }
}

/**
 * The key under which an address is counted: one machine has a whole /64 of IPv6, and one NAT64 (RFC 6052) many of IPv4
 * in one.
 */
export const addressKey = (address: string): string => networksOf(address)[0];

/** The networks of a client, the narrowest first: machine, customer (of IPv6) and site. */
export type ClientNetworks = readonly [machine: string, ...wider: string[]];

/** The /32 and the /24 of IPv4; the /64, the /56 and the /48 of IPv6, of which providers give whole ones away. */
export function networksOf(text: string): ClientNetworks {
  const plain = withoutZone(text);
  const address = addressOf(plain);
  // A text that is no address, as of a connection that is gone, is one network of its own.
  if (!address) return [plain];
  if (!('parts' in address) || isIn(address, NAT64)) {
    const [a, b, c, d] = address.toByteArray().slice(-4);
    return [`${a}.${b}.${c}.${d}`, `${a}.${b}.${c}.0/24`];
  }
  const [first = 0, second = 0, third = 0, fourth = 0] = address.parts;
  const network = (groups: readonly number[], bits: number): string =>
    `${groups.map((group) => group.toString(16)).join(':')}::/${bits}`;
  return [
    network([first, second, third, fourth], 64),
    network([first, second, third, fourth & 0xff00], 56),
    network([first, second, third], 48),
  ];
}

/** RFC 6052. */
const NAT64 = rangesOf('64:ff9b::/96');

const withoutZone = (address: string): string => address.replace(/%.*/, '');

/** An IPv4 client of a listener on `::` has an address of IPv6. */
const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

/**
 * Some proxies add the port, and some write the IPv4 in an address of IPv6 as two groups: otherwise all of their
 * clients would count as one /64.
 */
function addressIn(hop: string): string | undefined {
  const text = hop.trim();
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  if (isIP(bare) !== 6) return isIP(bare) === 4 ? bare : undefined;
  const address = addressOf(withoutZone(bare));
  return address?.kind() === 'ipv4' ? address.toString() : bare;
}
