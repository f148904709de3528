/*
 * Addresses of the internet protocol, without Node: the panel's pages judge an endpoint in the browser with the same
 * code. test/domain/otel-config/ip-addresses.test.ts compares it with Node's own.
 */

const BYTE = /^(?:0|[1-9][0-9]{0,2})$/;
const GROUP = /^[0-9A-Fa-f]{1,4}$/;
const IPV6_GROUPS = 8;

/** The four bytes of a plain dotted address; undefined for any other text. A leading zero is refused. */
function ipv4Bytes(text: string): readonly number[] | undefined {
  const parts = text.split('.');
  const isPlain = parts.length === 4 && parts.every((part) => BYTE.test(part) && Number(part) <= 255);
  return isPlain ? parts.map(Number) : undefined;
}

/** The eight groups of an address without brackets and zone; undefined for any other text (RFC 4291, 2.2). */
function ipv6Groups(text: string): readonly number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [before, after] = halves.map((half) => groupsOf(half));
  if (!before || (halves.length === 2 && !after)) return undefined;
  if (!after) return before.length === IPV6_GROUPS ? before : undefined;
  // An embedded IPv4 address ends the text, so none stands before the gap.
  if (halves[0]?.includes('.') === true) return undefined;
  const missing = IPV6_GROUPS - before.length - after.length;
  return missing < 1 ? undefined : [...before, ...Array.from({ length: missing }, () => 0), ...after];
}

function groupsOf(half: string): readonly number[] | undefined {
  if (half === '') return [];
  const parts = half.split(':');
  const last = parts.at(-1) ?? '';
  const embedded = last.includes('.') ? ipv4Bytes(last) : [];
  const groups = last.includes('.') ? parts.slice(0, -1) : parts;
  if (!embedded || !groups.every((group) => GROUP.test(group))) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = embedded;
  const tail = embedded.length === 0 ? [] : [a * 256 + b, c * 256 + d];
  return [...groups.map((group) => Number.parseInt(group, 16)), ...tail];
}

export const isIPv4 = (text: string): boolean => ipv4Bytes(text) !== undefined;
export const isIPv6 = (text: string): boolean => ipv6Groups(text) !== undefined;

/** The address in 16 bits each; an IPv4 address is its two. */
function groups(text: string): readonly number[] {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4Bytes(text) ?? [];
  return ipv6Groups(text) ?? [a * 256 + b, c * 256 + d];
}

/** `::ffff:a.b.c.d` is judged as the IPv4 address in it; no other embedding is. */
function unmapped(of: readonly number[]): readonly number[] {
  const isMapped = of.length === IPV6_GROUPS && of.slice(0, 5).every((group) => group === 0) && of[5] === 0xffff;
  return isMapped ? of.slice(6) : of;
}

/** Tests addresses for a network, such as `10.0.0.0/8` or `fc00::/7`. */
export function network(range: string): (address: string) => boolean {
  const [text = '', prefix] = range.split('/');
  const wanted = groups(text);
  const bits = Number(prefix);
  return (address) => {
    const whole = groups(address);
    const plain = unmapped(whole);
    const of = plain.length === wanted.length ? plain : whole;
    return of.length === wanted.length && sharePrefix(of, wanted, bits);
  };
}

function sharePrefix(one: readonly number[], other: readonly number[], bits: number): boolean {
  for (let group = 0; group * 16 < bits; group += 1) {
    const kept = Math.min(16, bits - group * 16);
    const mask = (0xffff << (16 - kept)) & 0xffff;
    if (((one[group] ?? 0) & mask) !== ((other[group] ?? 0) & mask)) return false;
  }
  return true;
}
