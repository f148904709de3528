import type { AddressRange } from '../../text/ip-addresses.ts';
import { isIPv4, isIPv6 } from '../../text/ip-addresses.ts';
import type { Clock } from '../../time/clock.ts';
import { mayReach, type Installation, type Socket } from './addresses.ts';
import { oneByOne, type Resolve, type ResolveInTurn } from './names.ts';

/** The facts by which a destination is judged. */
export interface DestinationDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly resolve: Resolve;
  /** The ranges of `MUSTER_EGRESS_ALLOW`. */
  readonly allow: readonly AddressRange[];
  /** The addresses of this machine, as they are now. */
  readonly ownAddresses: () => readonly string[];
  readonly ownPorts: () => readonly number[];
  /** The URLs of etcd; empty for an embedded store. */
  readonly storeUrls: readonly string[];
  /** A proxy makes the connections, and looks up the names. */
  readonly isProxied: boolean;
}

/**
 * The addresses to connect to, each judged; `by-proxy` where a proxy finds them.
 * @throws Error with the code of the resolver; Busy where other names came first; the signal's reason
 */
export type Destinations = (
  url: URL,
  signal: AbortSignal,
) => Promise<readonly [string, ...string[]] | 'not-allowed' | 'by-proxy'>;

export function createDestinations(deps: DestinationDeps): Destinations {
  const { allow, ownAddresses, ownPorts, storeUrls, isProxied } = deps;
  const resolve = oneByOne(deps.resolve);
  const members = storeUrls.map(socketOf);
  const socketsOfStore = rememberedSockets(members, resolve, deps.clock);
  return async (url, signal) => {
    const { address: host, port } = socketOf(url.href);
    const isName = !isIPv4(host) && !isIPv6(host);
    // The proxy would find on its own machine, or beside it, what this process is not to reach.
    if (isProxied && isName && (isLoopbackName(host) || members.some(({ address }) => isSameName(address, host)))) {
      return 'not-allowed';
    }
    if (isProxied && isName) return 'by-proxy';
    const store = await socketsOfStore(signal);
    const installation: Installation = { own: ownAddresses(), ownPorts: ownPorts(), store };
    const [first, ...others] = isName ? await resolve(host, signal) : [host];
    // One address that is refused refuses the name: whoever mixes them has chosen what is reached.
    if (first === undefined || ![first, ...others].every((address) => mayReach({ address, port }, allow, installation)))
      return 'not-allowed';
    return isProxied ? 'by-proxy' : [first, ...others];
  };
}

/** The host, without the brackets of IPv6, and the port of a URL. */
function socketOf(text: string): Socket {
  const { hostname, port, protocol } = new URL(text);
  return { address: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

const relative = (name: string): string => name.toLowerCase().replace(/\.$/, '');
const isSameName = (one: string, other: string): boolean => relative(one) === relative(other);
const isLoopbackName = (name: string): boolean => /(?:^|\.)localhost$/.test(relative(name));

const REMEMBERED_MS = 60_000;

/** The addresses of the store's members, looked up once a minute; those of before where a lookup fails. */
function rememberedSockets(
  members: readonly Socket[],
  resolve: ResolveInTurn,
  clock: Pick<Clock, 'monotonic'>,
): (signal: AbortSignal) => Promise<readonly Socket[]> {
  const known = new Map<string, { readonly addresses: readonly string[]; readonly at: number }>();
  async function addressesOf(host: string, signal: AbortSignal): Promise<readonly string[]> {
    if (isIPv4(host) || isIPv6(host)) return [host];
    const [before, at] = [known.get(host), clock.monotonic()];
    if (before && at - before.at < REMEMBERED_MS) return before.addresses;
    const addresses = await resolve(host, signal).catch((error: unknown) => {
      if (before) return before.addresses;
      // A member that is gone for good has no address to guard; where nothing is known, nothing is reached.
      if (error instanceof Error && 'code' in error && error.code === 'ENOTFOUND') return [];
      throw error;
    });
    known.set(host, { addresses, at });
    return addresses;
  }
  return async (signal) => {
    const sockets: Socket[] = [];
    for (const { address: host, port } of members) {
      for (const address of await addressesOf(host, signal)) sockets.push({ address, port });
    }
    return sockets;
  };
}
