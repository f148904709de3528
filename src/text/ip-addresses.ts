import ipaddr from 'ipaddr.js';

/*
 * Addresses of the internet protocol by a package that needs no Node: the panel's pages judge an endpoint in the
 * browser with the same code. test/text/ip-addresses.test.ts compares it with Node's own. The package reads more than
 * the specification (O4) and RFC 4291 have: octal and short addresses of IPv4, zones, and `::a.b.c.d` as a mapped
 * address.
 */

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address in one of the spellings that every parser reads alike, without brackets and zone. */
function parsed(text: string): Address | undefined {
  const dotted = text.slice(text.lastIndexOf(':') + 1);
  const { IPv4, IPv6 } = ipaddr;
  if (text.includes('%') || (dotted.includes('.') && !IPv4.isValidFourPartDecimal(dotted))) return undefined;
  if (dotted === text) return dotted.includes('.') ? IPv4.parse(text) : undefined;
  const spelled = text.replace(/^::(?=\d+\.)/, '0::');
  return IPv6.isValid(spelled) ? IPv6.parse(spelled) : undefined;
}

export const isIPv4 = (text: string): boolean => parsed(text)?.kind() === 'ipv4';
export const isIPv6 = (text: string): boolean => parsed(text)?.kind() === 'ipv6';

/** The address of a text; that of IPv4 for `::ffff:a.b.c.d`, and for no other embedding. Undefined where it is none. */
export function addressOf(text: string): Address | undefined {
  const address = parsed(text);
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** A range of addresses, as in `10.0.0.0/8`. */
export type AddressRange = readonly [first: Address, bits: number];

/** The range that a text names; a lone address is a range of one. Undefined where it names none. */
export function rangeOf(text: string): AddressRange | undefined {
  const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const first = parsed(address);
  const width = first?.kind() === 'ipv6' ? 128 : 32;
  const prefix = bits === undefined ? width : Number(bits);
  return first && prefix <= width ? [first, prefix] : undefined;
}

/** The ranges that the texts name; a text that names none is left out. */
export const rangesOf = (...texts: readonly string[]): readonly AddressRange[] =>
  texts.map(rangeOf).filter((range) => range !== undefined);

export const isIn = (address: Address, ranges: readonly AddressRange[]): boolean =>
  ranges.some(([first, bits]) => address.kind() === first.kind() && address.match(first, bits));

const NAT64 = rangesOf('64:ff9b::/96');

/** The address of IPv4 that a translator reaches for one of NAT64 (RFC 6052); every other address as it is. */
export const throughNat64 = (address: Address): Address =>
  isIn(address, NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address;

/** The shape of a range as schemas have it; what is no range all the same is told by `cidrFault`. */
export const CIDR = { pattern: '^[0-9A-Fa-f:.]{2,45}(/[0-9]{1,3})?$', charactersMax: 49 } as const;

const MAPPED = rangesOf('::ffff:0:0/96');

/**
 * Says what is wrong with a range that is to hold clients: one of no family, one with bits beyond its prefix, which is
 * as a rule a slip, and one of mapped addresses, since their clients count as those of IPv4. Undefined where all is
 * well.
 */
export function cidrFault(text: string): string | undefined {
  const range = rangeOf(text);
  if (!range) return 'must be an address of IPv4 or IPv6, or a range of them in CIDR notation, such as 192.0.2.0/24';
  const [first, bits] = range;
  if (isIn(first, MAPPED)) return 'must name addresses of IPv4 as such, and not in those of IPv6';
  const isFirst = first
    .toByteArray()
    .every((byte, at) => (byte & (0xff >> Math.max(0, Math.min(8, bits - at * 8)))) === 0);
  return isFirst ? undefined : 'must have no bits set beyond its prefix, such as 192.0.2.0/24 for 192.0.2.7/24';
}
