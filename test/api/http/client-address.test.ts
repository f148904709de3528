import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { addressKey, TrustedProxies } from '../../../src/api/http/client-address.ts';
import { rangesOf } from '../../../src/text/ip-addresses.ts';

const PROXIES = new TrustedProxies(rangesOf('10.0.0.0/8', 'fd00::/8'));

/** A request of a peer that is nobody's, with one field for each of the values. */
function requestFrom(
  remoteAddress: string,
  values: readonly string[],
  { field = 'X-Forwarded-For', encrypted = false } = {},
): IncomingMessage {
  const request = new IncomingMessage(
    Object.defineProperties(new Socket(), { remoteAddress: { value: remoteAddress }, encrypted: { value: encrypted } }),
  );
  request.rawHeaders = values.flatMap((value) => [field, value]);
  if (values.length > 0) request.headers = { [field.toLowerCase()]: values.join(', ') };
  return request;
}

test.each<[peer: string, forwarded: readonly string[], client: string, why: string]>([
  ['192.0.2.1', [], '192.0.2.1', 'the peer'],
  ['192.0.2.1', ['198.51.100.1'], '192.0.2.1', 'the header of a stranger is ignored'],
  ['10.0.0.1', ['198.51.100.1'], '198.51.100.1', 'the word of a trusted proxy'],
  ['::ffff:10.0.0.1', ['198.51.100.1'], '198.51.100.1', 'a listener on [::] writes IPv4 like this'],
  ['10.0.0.1', ['203.0.113.7, 198.51.100.1'], '198.51.100.1', 'what stands left of the client is its own word'],
  ['10.0.0.1', ['198.51.100.1, 10.2.3.4'], '198.51.100.1', 'a proxy behind another one'],
  ['10.0.0.1', ['203.0.113.7', '198.51.100.1, 10.2.3.4'], '198.51.100.1', 'two fields are one list'],
  ['fd00::1', ['2001:db8::1'], '2001:db8::1', 'IPv6'],
  ['10.0.0.1', ['198.51.100.1:4711'], '198.51.100.1', 'some proxies add the port'],
  ['10.0.0.1', ['[2001:db8::1]:4711'], '2001:db8::1', 'in IPv6 too'],
  ['10.0.0.1', ['::ffff:c633:6401'], '198.51.100.1', 'IPv4 as groups of IPv6'],
  ['10.0.0.1', ['198.51.100.1, 0:0:0:0:0:FFFF:a00:5'], '198.51.100.1', 'a trusted one, too'],
  ['10.0.0.1', [], '10.0.0.1', 'a proxy that names nobody is the client'],
  ['10.0.0.1', ['unknown'], '10.0.0.1', 'no address'],
  ['10.0.0.1', ['198.51.100.1, unknown, 10.2.3.4'], '10.2.3.4', 'nothing is believed beyond what is no address'],
  ['10.0.0.1', ['10.1.1.1, 10.2.2.2'], '10.1.1.1', 'all of them trusted: the first one'],
  ['11.0.0.1', ['198.51.100.1'], '11.0.0.1', 'the first address after the range'],
])('%s forwarding %j is %s: %s', (peer, forwarded, client) => {
  expect(PROXIES.clientOf(requestFrom(peer, forwarded))).toBe(client);
});

test.each<[peer: string, encrypted: boolean, forwarded: readonly string[], came: boolean, why: string]>([
  ['192.0.2.1', true, [], true, 'the connection itself'],
  ['10.0.0.1', false, ['https'], true, 'the word of a trusted proxy'],
  ['10.0.0.1', false, ['http', 'HTTPS '], true, 'the last word, in any case'],
  ['10.0.0.1', false, ['https, http'], false, 'the last word is another'],
  ['10.0.0.1', false, [], false, 'a trusted proxy that says nothing'],
  ['192.0.2.1', false, ['https'], false, 'a stranger'],
])('%s, encrypted: %s, that forwards %j: %s (%s)', (remoteAddress, encrypted, forwarded, came) => {
  const request = requestFrom(remoteAddress, forwarded, { field: 'X-Forwarded-Proto', encrypted });
  expect(PROXIES.cameByTls(request)).toBe(came);
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s is counted as %s', (address, key) => {
  expect(addressKey(address)).toBe(key);
});

test.each([
  ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1', 'IPv4 in an address of IPv6, written in full'],
  ['0:0:0:0:0:ffff:c000:201', '192.0.2.1', 'and as groups'],
  ['::ffff:192.0.2.1', '192.0.2.1', 'and in short'],
  ['64:ff9b::c000:201', '192.0.2.1', 'a client behind a NAT64 (RFC 6052)'],
  ['64:ff9b::192.0.2.1', '192.0.2.1', 'and with its IPv4 in its own spelling'],
  ['64:ff9b:1::c000:201', '64:ff9b:1:0::/64', 'another prefix'],
  ['::fffe:192.0.2.1', '0:0:0:0::/64', 'no mapped address'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64', 'an address with a zone'],
])('%s counts as %s (%s)', (address, key) => {
  expect(addressKey(address)).toBe(key);
});

test.each<[peer: string, forwarded: readonly string[], site: string | undefined, why: string]>([
  ['192.0.2.1', [], '192.0.2.0/24', 'the peer'],
  ['2001:db8:1:2::3', [], '2001:db8:1::/48', 'the peer, of IPv6'],
  ['::ffff:192.0.2.1', [], '192.0.2.0/24', 'a listener on [::]'],
  ['64:ff9b::c000:201', [], '192.0.2.0/24', 'IPv4 behind NAT64'],
  ['10.0.0.1', ['198.51.100.1'], '198.51.100.0/24', 'the word of a trusted proxy'],
  ['10.0.0.1', [], undefined, 'a trusted proxy that names nobody'],
  ['192.0.2.1', ['198.51.100.1'], undefined, 'a proxy that nobody trusts: a machine may come by two'],
])('%s forwarding %j is of the network %s: %s', (peer, forwarded, site) => {
  expect(PROXIES.siteOf(requestFrom(peer, forwarded))).toBe(site);
});

test.each(['Via', 'Forwarded'])('a proxy that nobody trusts shows itself by %s, too', (field) => {
  expect(PROXIES.siteOf(requestFrom('192.0.2.1', ['proxy'], { field }))).toBeUndefined();
});
