import { addressOf, isIn, rangesOf } from '../../text/ip-addresses.ts';
import type { Host } from './collector-host.ts';

/** The network of a host: private, public, or `nowhere` for an address at which no collector can listen. */
type Reach = 'private' | 'public' | 'nowhere';

/**
 * Section 4.8 and O5: classifies a host by its spelling alone. DNS is never asked: the address of a name here and now
 * says nothing about its address on the device.
 */
export function reachOf(host: Host): Reach {
  if (host.kind === 'name') return isPrivateName(host.text) ? 'private' : 'public';
  const address = addressOf(host.text);
  if (!address || isIn(address, NOWHERE)) return 'nowhere';
  return isIn(address, PRIVATE) ? 'private' : 'public';
}

/** IPv4-mapped IPv6 (`::ffff:10.0.0.1`) is judged by the embedded IPv4, and no other embedding is. */
const PRIVATE = rangesOf('127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '::1/128', 'fc00::/7');
/** Unspecified and multicast addresses. */
const NOWHERE = rangesOf('0.0.0.0/8', '224.0.0.0/4', '::/128', 'ff00::/8');

const PRIVATE_SUFFIXES = ['.localhost', '.local', '.lan', '.internal', '.home.arpa'];

/** On a machine in a cloud these answer with the machine's own credentials. */
const METADATA_NAMES = new Set(['metadata.google.internal', 'metadata.azure.internal', 'metadata', 'instance-data']);

function isPrivateName(name: string): boolean {
  const absolute = name.endsWith('.');
  const relative = absolute ? name.slice(0, -1) : name;
  if (METADATA_NAMES.has(relative)) return false;
  if (relative === 'localhost') return true;
  // `collector` is completed by the search list of the LAN; `collector.` is a top-level domain.
  if (!relative.includes('.')) return !absolute;
  return PRIVATE_SUFFIXES.some((suffix) => relative.endsWith(suffix));
}
