import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { AddressRange } from '../../config/addresses.ts';
import { fieldsOf } from './exchange.ts';

/** Entries of X-Forwarded-For that are looked at, from the right: a chain of proxies is shorter. */
const HOPS_MAX = 16;

/** The proxies whose X-Forwarded-For is believed (`MUSTER_TRUSTED_PROXIES`). */
export class TrustedProxies {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

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
}

/** The key under which an address is counted: one machine has a whole /64 of IPv6. */
export function addressKey(address: string): string {
  const plain = plainAddress(address);
  if (isIP(plain) !== 6) return plain;
  const [head = '', tail] = plain.split('%')[0]!.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const before = groups(head);
  const after = groups(tail ?? '');
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  const all = [...before, ...(tail === undefined ? [] : zeros), ...after].slice(0, 4);
  return `${all.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
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
