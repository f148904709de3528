import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';
import type { AddressRange } from '../../config/addresses.ts';
import { fieldsOf } from './request-headers.ts';
import { isEncrypted } from '../headers/security-headers.ts';

/** Entries of X-Forwarded-For that are looked at, from the right: a chain of proxies is shorter. */
const HOPS_MAX = 16;

/** The headers by which proxies show that they are between. */
const FORWARDING = ['x-forwarded-for', 'forwarded', 'via'] as const;

/** The proxies whose X-Forwarded-For is believed (`MUSTER_TRUSTED_PROXIES`). */
export class TrustedProxies {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;
  readonly #sites = new WeakMap<Socket, string>();

  constructor(ranges: readonly AddressRange[]) {
    for (const { address, bits } of ranges) this.#list.addSubnet(address, bits, familyOf(address));
    this.#isEmpty = ranges.length === 0;
  }

  /** @param address undefined for a connection that is gone */
  has(address: string | undefined): boolean {
    if (this.#isEmpty || address === undefined) return false;
    const plain = plainAddress(address);
    return isIP(plain) !== 0 && this.#list.check(plain, familyOf(plain));
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
export function networksOf(address: string): ClientNetworks {
  const plain = plainAddress(address).split('%')[0]!;
  if (isIP(plain) !== 6) return networksOfIPv4(plain);
  const all = groupsOf(plain);
  const [high = 0, low = 0] = all.slice(6);
  const prefix = all.slice(0, 6).join(':');
  if (prefix === MAPPED || prefix === NAT64) {
    return networksOfIPv4([high >> 8, high & 0xff, low >> 8, low & 0xff].join('.'));
  }
  const [first = 0, second = 0, third = 0, fourth = 0] = all;
  const network = (groups: readonly number[], bits: number): string =>
    `${groups.map((group) => group.toString(16)).join(':')}::/${bits}`;
  return [
    network([first, second, third, fourth], 64),
    network([first, second, third, fourth & 0xff00], 56),
    network([first, second, third], 48),
  ];
}

/** The networks of an IPv4 address. A text that is no address, as of a connection that is gone, is one network of its own. */
const networksOfIPv4 = (address: string): ClientNetworks =>
  isIP(address) === 4 ? [address, address.replace(/\d+$/, '0/24')] : [address];

/** The six groups before an IPv4 address, in decimal: `::ffff:0:0/96` and `64:ff9b::/96`. */
const MAPPED = [0, 0, 0, 0, 0, 0xffff].join(':');
const NAT64 = [0x64, 0xff9b, 0, 0, 0, 0].join(':');

/** The eight groups of an address of IPv6, whichever way it is written. */
function groupsOf(address: string): readonly number[] {
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_dotted, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const [head = '', tail] = hex.split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => 0);
  return [...before, ...zeros, ...after];
}

/** An IPv4 client of a listener on `::` has an address of IPv6. */
const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Some proxies add the port. */
function addressIn(hop: string): string | undefined {
  const text = hop.trim();
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(bare) === 0 ? undefined : plainAddress(dotted(bare));
}

/** Some proxies write the IPv4 in an address of IPv6 as two groups: otherwise all of theirs would count as one /64. */
function dotted(address: string): string {
  const [, high, low] = /^(?:::|(?:0{1,4}:){5})ffff:([\da-f]{1,4}):([\da-f]{1,4})$/i.exec(address) ?? [];
  if (high === undefined || low === undefined) return address;
  const bytes = Buffer.from(high.padStart(4, '0') + low.padStart(4, '0'), 'hex');
  return `::ffff:${bytes.join('.')}`;
}
