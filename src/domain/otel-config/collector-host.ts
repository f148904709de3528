import { domainToUnicode } from 'node:url';
import { isIPv4, isIPv6 } from '../../text/ip-addresses.ts';

/** The host of an endpoint, in one of the three spellings that every URL parser reads alike (O4). */
export interface Host {
  readonly kind: 'ipv4' | 'ipv6' | 'name';
  /** Lower case; an IPv6 address without its brackets, a name with its trailing dot where it was sent with one. */
  readonly text: string;
}

/** RFC 1035, 2.3.4: 255 octets on the wire are 253 characters, and the trailing dot (the root) is none of them. */
const NAME_CHARACTERS_MAX = 253;
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
/**
 * Labels that WHATWG and inet_aton(3) begin to read as a number, so that `10.0.0.0x1` is an address to some parsers.
 */
const NUMERIC_LABEL = /^(?:[0-9]+|0x.*)$/;

/** Parses the host as spelled between `//` and the port or path; undefined where the grammar of O4 has no such host. */
export function parseHost(spelled: string): Host | undefined {
  const text = spelled.toLowerCase();
  if (text.startsWith('[')) return parseBracketed(text);
  if (isIPv4(text)) return { kind: 'ipv4', text };
  return isName(text) ? { kind: 'name', text } : undefined;
}

function parseBracketed(spelled: string): Host | undefined {
  const text = /^\[([0-9a-f:.]+)\]$/.exec(spelled)?.[1];
  return text !== undefined && isIPv6(text) ? { kind: 'ipv6', text } : undefined;
}

function isName(text: string): boolean {
  const relative = text.endsWith('.') ? text.slice(0, -1) : text;
  if (relative.length > NAME_CHARACTERS_MAX) return false;
  const labels = relative.split('.');
  return labels.every(isLabel) && !NUMERIC_LABEL.test(labels.at(-1) ?? '');
}

/** A label that claims to be internationalised must be so: some parsers refuse `xn--a`, others hand it to DNS. */
function isLabel(label: string): boolean {
  if (!LABEL.test(label)) return false;
  return !label.startsWith('xn--') || !domainToUnicode(label).startsWith('xn--');
}
