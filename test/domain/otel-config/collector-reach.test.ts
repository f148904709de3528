import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endpointFault } from '../../../src/domain/otel-config/collector-endpoint.ts';
import { runs } from '../../support/run/effort.ts';

const isAcceptable = (endpoint: string) => endpointFault(endpoint) === undefined;

type Where = 'http and https' | 'https only' | 'never';

function whereAcceptable(host: string): Where {
  if (!isAcceptable(`https://${host}`)) return 'never';
  return isAcceptable(`http://${host}`) ? 'http and https' : 'https only';
}

describe('O5: which addresses are private', () => {
  test.each<[string, Where, string]>([
    ['126.255.255.255', 'https only', 'last before 127.0.0.0/8'],
    ['127.0.0.0', 'http and https', 'its first'],
    ['127.255.255.255', 'http and https', 'its last'],
    ['128.0.0.0', 'https only', 'first after it'],
    ['9.255.255.255', 'https only', 'last before 10.0.0.0/8'],
    ['10.0.0.0', 'http and https', 'its first'],
    ['10.255.255.255', 'http and https', 'its last'],
    ['11.0.0.0', 'https only', 'first after it'],
    ['172.15.255.255', 'https only', 'last before 172.16.0.0/12'],
    ['172.16.0.0', 'http and https', 'its first'],
    ['172.31.255.255', 'http and https', 'its last'],
    ['172.32.0.0', 'https only', 'first after it'],
    ['192.167.255.255', 'https only', 'last before 192.168.0.0/16'],
    ['192.168.0.0', 'http and https', 'its first'],
    ['192.168.255.255', 'http and https', 'its last'],
    ['192.169.0.0', 'https only', 'first after it'],
    ['169.254.169.254', 'https only', 'link-local is where clouds keep their metadata'],
    ['100.64.0.1', 'https only', "a carrier's network is not the owner's"],
    ['0.0.0.0', 'never', 'unspecified'],
    ['0.255.255.255', 'never', 'last of 0.0.0.0/8'],
    ['1.0.0.0', 'https only', 'first after it'],
    ['223.255.255.255', 'https only', 'last before multicast'],
    ['224.0.0.0', 'never', 'first multicast'],
    ['239.255.255.255', 'never', 'last multicast'],
    ['240.0.0.0', 'https only', 'reserved: anything else'],
    ['255.255.255.255', 'https only', 'broadcast: anything else'],
    ['[::]', 'never', 'unspecified'],
    ['[0:0:0:0:0:0:0:0]', 'never', 'in full'],
    ['[::0.0.0.0]', 'never', 'with IPv4 at the end'],
    ['[::1]', 'http and https', 'loopback'],
    ['[0000:0000::0001]', 'http and https', 'in another spelling'],
    ['[::0.0.0.1]', 'http and https', 'and in another'],
    ['[::2]', 'https only', 'next to it'],
    ['[1::1]', 'https only', 'far from it'],
    ['[fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]', 'https only', 'last before fc00::/7'],
    ['[fc00::]', 'http and https', 'its first'],
    ['[fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]', 'http and https', 'its last'],
    ['[fe00::]', 'https only', 'first after it'],
    ['[fc::1]', 'https only', 'fc is 00fc'],
    ['[fe80::1]', 'https only', 'link-local'],
    ['[fec0::1]', 'https only', 'site-local is deprecated'],
    ['[feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]', 'https only', 'last before multicast'],
    ['[ff00::]', 'never', 'first multicast'],
    ['[ff02::1]', 'never', 'all nodes'],
    ['[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]', 'never', 'last multicast'],
    ['[::ffff:127.0.0.1]', 'http and https', 'IPv4-mapped loopback'],
    ['[::FFFF:7F00:1]', 'http and https', 'in hexadecimal'],
    ['[0:0:0:0:0:ffff:172.31.255.255]', 'http and https', 'IPv4-mapped, last of 172.16.0.0/12'],
    ['[::ffff:172.32.0.0]', 'https only', 'first after it'],
    ['[::ffff:169.254.169.254]', 'https only', 'IPv4-mapped link-local'],
    ['[::ffff:8.8.8.8]', 'https only', 'IPv4-mapped public'],
    ['[::ffff:0.0.0.0]', 'never', 'IPv4-mapped unspecified'],
    ['[::ffff:0:1]', 'never', 'IPv4-mapped 0.0.0.1'],
    ['[::ffff:224.0.0.1]', 'never', 'IPv4-mapped multicast'],
    ['[::10.0.0.1]', 'https only', 'IPv4-compatible is not IPv4-mapped'],
    ['[::224.0.0.1]', 'https only', 'nor is it for multicast'],
    ['[::ffff:0:10.0.0.1]', 'https only', 'IPv4-translated (RFC 2765) is not IPv4-mapped'],
    ['[::fffe:10.0.0.1]', 'https only', 'one bit off'],
    ['[1::ffff:10.0.0.1]', 'https only', 'one group off'],
    ['[64:ff9b::10.0.0.1]', 'https only', 'NAT64 is a public prefix'],
    ['[2002:a00:1::]', 'https only', '6to4 is a public prefix'],
  ])('%s: %s (%s)', (host, where) => {
    expect(whereAcceptable(host)).toBe(where);
  });
});

describe('O5: which names are private', () => {
  test.each<[string, Where, string]>([
    ['localhost', 'http and https', 'the machine itself'],
    ['LocalHost', 'http and https', 'in any case'],
    ['localhost.', 'http and https', 'in its absolute form'],
    ['otel.localhost', 'http and https', 'below it'],
    ['otel.localhost.', 'http and https', 'absolute'],
    ['a.b.localhost', 'http and https', 'further below'],
    ['xlocalhost.com', 'https only', 'only resembles it'],
    ['otel.xlocalhost', 'https only', 'the suffix is a whole label'],
    ['collector', 'http and https', 'a single label'],
    ['COLLECTOR_1', 'http and https', 'in any case, with an underscore'],
    ['collector.', 'https only', 'a top-level domain'],
    ['com', 'http and https', 'a single label whatever it says'],
    ['com.', 'https only', 'and the domain of that name'],
    ['otel.local', 'http and https', 'mDNS'],
    ['otel.LOCAL.', 'http and https', 'absolute, in any case'],
    ['local', 'http and https', 'a single label'],
    ['local.', 'https only', 'a top-level domain'],
    ['otel.xlocal', 'https only', 'the suffix is a whole label'],
    ['otel.local.example.com', 'https only', 'the suffix stands at the end'],
    ['otel.lan', 'http and https', 'what routers hand out'],
    ['otel.lan.', 'http and https', 'absolute'],
    ['otel.xlan', 'https only', 'the suffix is a whole label'],
    ['lan.', 'https only', 'a top-level domain'],
    ['otel.internal', 'http and https', 'reserved for private use'],
    ['otel.internal.', 'http and https', 'absolute'],
    ['otel.xinternal', 'https only', 'the suffix is a whole label'],
    ['internal.', 'https only', 'a top-level domain'],
    ['otel.home.arpa', 'http and https', 'RFC 8375'],
    ['otel.home.arpa.', 'http and https', 'absolute'],
    ['home.arpa', 'https only', 'nothing below it'],
    ['otel.xhome.arpa', 'https only', 'the suffix is of whole labels'],
    ['otel.arpa', 'https only', 'the rest of arpa is public'],
    ['otel.corp', 'https only', 'in use, and reserved by nobody'],
    ['metadata', 'https only', "the cloud's metadata by its short name"],
    ['metadata.', 'https only', 'absolute'],
    ['METADATA', 'https only', 'in any case'],
    ['metadata2', 'http and https', 'another single label'],
    ['instance-data', 'https only', 'the same in another cloud'],
    ['instance-data.', 'https only', 'absolute'],
    ['instance-data2', 'http and https', 'another single label'],
    ['metadata.google.internal', 'https only', 'its full name'],
    ['Metadata.Google.INTERNAL', 'https only', 'in any case'],
    ['metadata.google.internal.', 'https only', 'absolute'],
    ['metadata.azure.internal', 'https only', "another cloud's"],
    ['METADATA.Azure.Internal', 'https only', 'in any case'],
    ['metadata.azure.internal.', 'https only', 'absolute'],
    ['xmetadata.azure.internal', 'http and https', 'a machine of the network'],
    ['azure.internal', 'http and https', 'the domain above'],
    ['xmetadata.google.internal', 'http and https', 'a machine of the project'],
    ['google.internal', 'http and https', 'the domain above'],
    ['metadata.internal', 'http and https', "somebody's own"],
    ['10.0.0.1.example.com', 'https only', 'a name that begins like an address'],
    ['fd00', 'http and https', 'a single label that looks like a group'],
  ])('%s: %s (%s)', (host, where) => {
    expect(whereAcceptable(host)).toBe(where);
  });
});

const octet = fc.nat({ max: 255 });
const ipv4 = fc.tuple(octet, octet, octet, octet);
/** RFC 1918 and loopback, in arithmetic instead of lists. */
function expectedOfIpv4([a, b]: readonly [number, number, number, number]): Where {
  if (a === 0 || (a >= 224 && a <= 239)) return 'never';
  const ours = a === 10 || a === 127 || (a === 172 && b >= 16 && b <= 31) || (a === 192 && b === 168);
  return ours ? 'http and https' : 'https only';
}

test('every IPv4 address is judged by its range, and so is the IPv6 address that maps it', () => {
  const nearby = fc.tuple(fc.constantFrom(0, 9, 10, 11, 126, 127, 128, 172, 192, 223, 224, 240), octet, octet, octet);
  fc.assert(
    fc.property(fc.oneof(ipv4, nearby), (address) => {
      const expected = expectedOfIpv4(address);
      const [a, b, c, d] = address;
      expect(whereAcceptable(address.join('.'))).toBe(expected);
      expect(whereAcceptable(`[::ffff:${address.join('.')}]`)).toBe(expected);
      expect(whereAcceptable(`[::FFFF:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}]`)).toBe(expected);
    }),
    { seed: 1, numRuns: runs(200) },
  );
});

test('all of 172.0.0.0/8 and 192.0.0.0/8 by their second octet', () => {
  for (const a of [172, 192]) {
    for (let b = 0; b <= 255; b += 1) {
      expect(whereAcceptable(`${a}.${b}.0.1`)).toBe(expectedOfIpv4([a, b, 0, 1]));
    }
  }
});

test('an IPv6 address outside the mapped range is judged by its first group alone', () => {
  const group = fc.nat({ max: 0xffff });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 0xffff }), fc.array(group, { minLength: 7, maxLength: 7 }), (first, rest) => {
      const host = `[${[first, ...rest].map((g) => g.toString(16)).join(':')}]`;
      const expected = first >= 0xff00 ? 'never' : first >= 0xfc00 && first <= 0xfdff ? 'http and https' : 'https only';
      expect(whereAcceptable(host)).toBe(expected);
    }),
    { seed: 1, numRuns: runs(200) },
  );
});
