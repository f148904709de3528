import { addressOf, isIn, rangesOf, throughNat64, type Address, type AddressRange } from '../../text/ip-addresses.ts';

/**
 * The ranges of IPv4 in which nothing of the public internet lies: what the IANA registry of special purposes
 * (RFC 6890) does not have as globally reachable, multicast, and what is reserved. Clouds tell a machine's secrets at
 * 169.254.169.254, 100.100.100.200 and 192.0.0.192, which are among them, and at 168.63.129.16, which is public.
 */
const INSIDE = rangesOf(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
);

/**
 * IPv6 is judged the other way round: IANA has given out global unicast alone, so all else is refused, whatever
 * becomes of it. That has loopback, ULA, link-local, site-local, multicast, and every embedding of IPv4 but NAT64.
 */
const GLOBAL_UNICAST = rangesOf('2000::/3');
/** Protocols of the IETF with Teredo and ORCHID, documentation, and 6to4, by which any address of IPv4 is meant. */
const INSIDE_OF_IT = rangesOf('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20');

/** Addresses that reach a listener of this machine, whatever its interfaces have. */
const THIS_MACHINE = rangesOf('127.0.0.0/8', '0.0.0.0/8', '::/127');

const isPublic = (address: Address): boolean =>
  address.kind() === 'ipv4' ? !isIn(address, INSIDE) : isIn(address, GLOBAL_UNICAST) && !isIn(address, INSIDE_OF_IT);

/** A port of an address. */
export interface Socket {
  readonly address: string;
  readonly port: number;
}

/** The addresses of the installation, which are not reached although they may be public. */
export interface Installation {
  /** The addresses of this machine's interfaces. */
  readonly own: readonly string[];
  /** The ports of this process's listeners. */
  readonly ownPorts: readonly number[];
  /** The members of the store. */
  readonly store: readonly Socket[];
}

/**
 * Judges an address by itself, in any spelling; one with a zone is none. An address that stands for one of IPv4, mapped
 * or by NAT64, is judged as that.
 * @param allow the ranges that the operator has opened. They open no port of the store's members nor of this process's
 *   listeners: what an owner sends there would be taken for the word of the installation
 */
export function mayReach(
  { address: text, port }: Socket,
  allow: readonly AddressRange[],
  { own, ownPorts, store }: Installation,
): boolean {
  const spelled = addressOf(text);
  if (!spelled) return false;
  const address = throughNat64(spelled);
  const isAt = (other: string): boolean => canonical(other) === address.toString();
  const isOwn = own.some(isAt);
  if (store.some((member) => member.port === port && isAt(member.address))) return false;
  if (ownPorts.includes(port) && (isOwn || isIn(address, THIS_MACHINE))) return false;
  if (isIn(address, allow) || isIn(spelled, allow)) return true;
  return isPublic(address) && !isOwn && !store.some((member) => isAt(member.address));
}

/** One spelling for each address; undefined for one with a zone, which no target has. */
function canonical(text: string): string | undefined {
  const address = addressOf(text);
  return address && throughNat64(address).toString();
}
