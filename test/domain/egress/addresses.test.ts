import { BlockList } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mayReach, type Installation } from '../../../src/domain/egress/addresses.ts';
import { rangesOf } from '../../../src/text/ip-addresses.ts';
import { runs } from '../../support/run/effort.ts';

const NOWHERE: Installation = { own: [], ownPorts: [], store: [] };
const reaches = (address: string, allow: readonly string[] = [], installation: Partial<Installation> = {}): boolean =>
  mayReach({ address, port: 443 }, rangesOf(...allow), { ...NOWHERE, ...installation });

describe('without ranges that the operator has opened', () => {
  test.each([
    ['8.8.8.8', true, 'public'],
    ['0.0.0.0', false, 'unspecified: Linux takes it for this machine'],
    ['0.255.255.255', false, 'last of 0.0.0.0/8'],
    ['1.0.0.0', true, 'first after it'],
    ['9.255.255.255', true, 'last before 10.0.0.0/8'],
    ['10.0.0.0', false, 'RFC 1918'],
    ['11.0.0.0', true, 'first after it'],
    ['100.63.255.255', true, 'last before 100.64.0.0/10'],
    ['100.64.0.0', false, 'shared address space of carriers'],
    ['100.100.100.200', false, 'metadata of Alibaba Cloud'],
    ['100.128.0.0', true, 'first after it'],
    ['126.255.255.255', true, 'last before loopback'],
    ['127.0.0.1', false, 'loopback'],
    ['127.255.255.254', false, 'loopback, too'],
    ['128.0.0.0', true, 'first after it'],
    ['168.63.129.15', true, 'beside the wire server of Azure'],
    ['168.63.129.16', false, 'the wire server of Azure, which is a public address'],
    ['169.253.255.255', true, 'last before link-local'],
    ['169.254.169.254', false, 'metadata of most clouds'],
    ['169.254.170.2', false, 'credentials of containers at AWS'],
    ['169.255.0.0', true, 'first after link-local'],
    ['172.15.255.255', true, 'last before 172.16.0.0/12'],
    ['172.16.0.0', false, 'RFC 1918'],
    ['172.31.255.255', false, 'last of it'],
    ['172.32.0.0', true, 'first after it'],
    ['192.0.0.192', false, 'metadata of Oracle Cloud'],
    ['192.0.1.0', true, 'first after 192.0.0.0/24'],
    ['192.0.2.1', false, 'documentation'],
    ['192.88.99.1', false, 'relays of 6to4'],
    ['192.168.0.1', false, 'RFC 1918'],
    ['192.169.0.0', true, 'first after it'],
    ['198.17.255.255', true, 'last before benchmarks'],
    ['198.19.255.255', false, 'benchmarks'],
    ['198.51.100.7', false, 'documentation'],
    ['203.0.113.7', false, 'documentation'],
    ['223.255.255.255', true, 'last before multicast'],
    ['224.0.0.1', false, 'multicast'],
    ['240.0.0.1', false, 'reserved'],
    ['255.255.255.255', false, 'broadcast'],
    ['2606:4700:4700::1111', true, 'public'],
    ['2001:4860:4860::8888', true, 'public, after 2001::/23'],
    ['::', false, 'unspecified'],
    ['::1', false, 'loopback'],
    ['::ffff:8.8.8.8', true, 'a public address of IPv4, mapped'],
    ['::ffff:127.0.0.1', false, 'loopback, mapped'],
    ['::ffff:7f00:1', false, 'the same in groups'],
    ['::ffff:a9fe:a9fe', false, 'metadata, mapped'],
    ['::ffff:0:127.0.0.1', false, 'translated (RFC 2765)'],
    ['::127.0.0.1', false, 'IPv4-compatible'],
    ['::8.8.8.8', false, 'IPv4-compatible: a form that nothing uses any more'],
    ['64:ff9b::8.8.8.8', true, 'a public address by NAT64, as DNS64 gives it'],
    ['64:ff9b::169.254.169.254', false, 'metadata by NAT64'],
    ['64:ff9b::a00:1', false, 'RFC 1918 by NAT64'],
    ['64:ff9b:1::8.8.8.8', false, 'NAT64 of a local prefix'],
    ['2002:7f00:1::', false, 'loopback by 6to4'],
    ['2002:808:808::1', false, 'every other address by 6to4'],
    ['2001::1', false, 'Teredo'],
    ['2001:1ff:ffff::', false, 'last of 2001::/23'],
    ['2001:200::', true, 'first after it'],
    ['2001:db8::1', false, 'documentation'],
    ['3fff::1', false, 'documentation'],
    ['3fff:1000::', true, 'first after it'],
    ['100::1', false, 'discarded (RFC 6666)'],
    ['1fff:ffff::', false, 'last before global unicast'],
    ['4000::', false, 'first after it'],
    ['fc00::1', false, 'unique-local'],
    ['fd00:ec2::254', false, 'metadata of AWS'],
    ['fe80::1', false, 'link-local'],
    ['fe80::1%eth0', false, 'link-local with a zone'],
    ['2606:4700::1%eth0', false, 'a zone makes it an address of this machine'],
    ['fec0::1', false, 'site-local'],
    ['ff02::1', false, 'multicast'],
    ['', false, 'no address'],
    ['010.8.8.8', false, 'an octal number: no parser reads it like another'],
    ['collector.example', false, 'a name'],
  ])('%s → %s (%s)', (address, expected) => {
    expect(reaches(address)).toBe(expected);
  });

  test('no spelling and no embedding of an address inside passes', () => {
    const inside = new BlockList();
    for (const [net, bits] of [
      ['0.0.0.0', 8],
      ['10.0.0.0', 8],
      ['100.64.0.0', 10],
      ['127.0.0.0', 8],
      ['169.254.0.0', 16],
      ['172.16.0.0', 12],
      ['192.168.0.0', 16],
      ['224.0.0.0', 3],
    ] as const) {
      inside.addSubnet(net, bits, 'ipv4');
    }
    const near = fc.oneof(fc.ipV4(), fc.constantFrom('10.', '127.', '169.254.', '192.168.').chain(beginning));
    const groups = (address: string): string => {
      const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
      return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
    };
    const forms: readonly ((address: string) => string)[] = [
      (address) => address,
      (address) => `::ffff:${address}`,
      (address) => `::FFFF:${groups(address)}`,
      (address) => `0:0:0:0:0:ffff:${groups(address)}`,
      (address) => `64:ff9b::${address}`,
      (address) => `64:ff9b:0:0:0:0:${groups(address)}`,
      (address) => `::${address}`,
      (address) => `2002:${groups(address)}::1`,
      (address) => `fe80::${groups(address)}`,
    ];
    fc.assert(
      fc.property(near, fc.constantFrom(...forms), (address, form) => {
        if (inside.check(address, 'ipv4'))
          expect([form(address), reaches(form(address))]).toEqual([form(address), false]);
      }),
      { numRuns: runs(1000) },
    );
  });

  test('what is reached of IPv6 is global unicast, or IPv4 in one of two forms', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        if (!reaches(address)) return;
        expect(new URL(`http://[${address}]/`).hostname).toMatch(/^\[(?:[23][0-9a-f]{3}:|::ffff:|64:ff9b::)/);
      }),
      { numRuns: runs(1000) },
    );
  });
});

const beginning = (first: string) =>
  fc
    .array(fc.nat(255), { minLength: 3, maxLength: 3 })
    .map((rest) => [...first.split('.').filter(Boolean), ...rest].slice(0, 4).join('.'));

describe('what the operator names is open', () => {
  test.each([
    ['10.1.2.3', ['10.1.0.0/16'], true, 'in the range'],
    ['10.2.0.0', ['10.1.0.0/16'], false, 'behind it'],
    ['::ffff:10.1.2.3', ['10.1.0.0/16'], true, 'mapped'],
    ['64:ff9b::10.1.2.3', ['10.1.0.0/16'], true, 'by NAT64'],
    ['127.0.0.1', ['127.0.0.1'], true, 'loopback, by an address alone'],
    ['127.0.0.2', ['127.0.0.1'], false, 'and no other of loopback'],
    ['::1', ['127.0.0.0/8'], false, 'nor that of IPv6'],
    ['fd12::1', ['fd12::/16'], true, 'unique-local'],
    ['2002:7f00:1::', ['127.0.0.0/8'], false, '6to4 is no spelling of IPv4'],
    ['169.254.169.254', ['0.0.0.0/0'], true, 'all of IPv4, if the operator means it'],
    ['fe80::1%eth0', ['fe80::/10'], false, 'a zone is never judged'],
  ])('%s by %j → %s (%s)', (address, allow, expected) => {
    expect(reaches(address, allow)).toBe(expected);
  });
});

describe('the installation itself', () => {
  const own = ['8.8.4.4', '10.0.0.5', '2606:4700::5', 'fe80::5'];
  const store = [
    { address: '9.9.9.9', port: 2379 },
    { address: '10.0.0.9', port: 443 },
    { address: '::ffff:10.0.0.8', port: 443 },
  ];
  test.each([
    ['8.8.4.4', [], false, 'a public address of this machine'],
    ['::ffff:8.8.4.4', [], false, 'the same, mapped'],
    ['2606:4700:0::5', [], false, 'one of IPv6, spelled otherwise'],
    ['8.8.4.5', [], true, 'the one beside it'],
    ['8.8.4.4', ['8.8.4.4'], true, 'named by the operator: another program of this machine'],
    ['9.9.9.9', [], false, 'a public address of etcd, whatever the port'],
    ['9.9.9.9', ['9.9.9.9'], true, 'another port of it, named by the operator'],
    ['10.0.0.9', ['10.0.0.0/8'], false, 'the port of etcd, although the range is open'],
    ['10.0.0.8', ['10.0.0.0/8'], false, 'another member, which the store spells as mapped'],
    ['10.0.0.7', ['10.0.0.0/8'], true, 'the machine beside them'],
  ])('%s by %j → %s (%s)', (address, allow, expected) => {
    expect(reaches(address, allow, { own, store })).toBe(expected);
  });

  test.each(['10.0.0.5', '127.0.0.1', '127.9.9.9', '0.0.0.0', '::', '::1', '::ffff:127.0.0.1'])(
    'a port of its listeners stays shut at %s, although all is open',
    (address) => {
      const allow = ['0.0.0.0/0', '::/0'];
      expect(reaches(address, allow, { own, ownPorts: [8080, 443] })).toBe(false);
      expect(reaches(address, allow, { own, ownPorts: [8080] })).toBe(true);
    },
  );
});
