import { BlockList, isIPv4 as nodeIPv4, isIPv6 as nodeIPv6 } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addressOf, isIn, isIPv4, isIPv6, rangesOf } from '../../src/text/ip-addresses.ts';

/* Node's own functions are the reference; the browser has none of them. */

const nearAddresses = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.string({ unit: fc.constantFrom(...'0123456789abcdefF:.'.split('')), maxLength: 45 }),
  fc
    .tuple(fc.ipV6(), fc.nat(44), fc.constantFrom('', ':', '::', '.', '0', 'g', '1.2.3.4', '%eth0'))
    .map(([address, at, other]) => address.slice(0, at) + other + address.slice(at)),
  fc.tuple(fc.ipV4(), fc.constantFrom('::ffff:', '::', '64:ff9b::', '2002::')).map(([v4, prefix]) => prefix + v4),
);

test('a text is an address exactly where Node says so; a zone is none', () => {
  fc.assert(
    fc.property(nearAddresses, (text) => {
      expect([text, isIPv4(text)]).toEqual([text, nodeIPv4(text)]);
      expect([text, isIPv6(text)]).toEqual([text, nodeIPv6(text) && !text.includes('%')]);
    }),
    { numRuns: 3000 },
  );
});

test.each<[text: string, address: string | undefined, why: string]>([
  ['::ffff:010.0.0.1', undefined, 'an octal number: some parsers read 8.0.0.1'],
  ['010.0.0.1', undefined, 'alone, too'],
  ['10.1', undefined, 'a short address'],
  ['::10.0.0.1', '::a00:1', 'no mapped address, though its IPv4 is written out'],
  ['::ffff:10.0.0.1', '10.0.0.1', 'a mapped one'],
  ['::FFFF:a00:1', '10.0.0.1', 'the same in groups'],
])('%s is the address %s (%s)', (text, address) => {
  expect(addressOf(text)?.toString()).toBe(address);
});

test('an address is in a network exactly where Node’s list says so', () => {
  const ranges = ['127.0.0.0/8', '172.16.0.0/12', '0.0.0.0/8', '224.0.0.0/4', '::1/128', 'fc00::/7', 'ff00::/8'];
  const addresses = nearAddresses.filter((text) => (nodeIPv4(text) || nodeIPv6(text)) && !text.includes('%'));
  fc.assert(
    fc.property(addresses, fc.constantFrom(...ranges), (address, range) => {
      const [subnet = '', prefix] = range.split('/');
      const list = new BlockList();
      list.addSubnet(subnet, Number(prefix), subnet.includes(':') ? 'ipv6' : 'ipv4');
      const parsed = addressOf(address);
      expect([address, range, parsed && isIn(parsed, rangesOf(range))]).toEqual([
        address,
        range,
        list.check(address, nodeIPv4(address) ? 'ipv4' : 'ipv6'),
      ]);
    }),
    { numRuns: 3000 },
  );
});
