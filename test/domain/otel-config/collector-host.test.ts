import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endpointFault } from '../../../src/domain/otel-config/collector-endpoint.ts';
import { runs } from '../../support/run/effort.ts';

const isAcceptable = (endpoint: string) => endpointFault(endpoint) === undefined;

const L63 = 'a'.repeat(63);
/** A name of so many characters, of valid labels, that ends in a letter. */
const nameOf = (characters: number) => `${L63}.${L63}.${L63}.${'b'.repeat(characters - 194)}.c`;

describe('O4: host names', () => {
  test.each([
    [`${L63}.com`, true, 'a label of 63 characters'],
    [`${L63}a.com`, false, 'of 64'],
    [`c.${L63}`, true, 'a last label of 63'],
    [`c.${L63}a`, false, 'of 64'],
    [nameOf(253), true, 'a name of 253 characters'],
    [nameOf(254), false, 'of 254'],
    [`${nameOf(253)}.`, true, 'the dot at the end is the root and none of the 253'],
    [`${nameOf(254)}.`, false, 'of 254 and the dot'],
    ['example.com.', true, 'one dot at the end'],
    ['example.com..', false, 'two'],
    ['.example.com', false, 'a dot at the front'],
    ['a..example.com', false, 'an empty label inside'],
    ['.', false, 'the root alone'],
    ['..', false, 'and twice'],
    ['a-b.example.com', true, 'a hyphen inside'],
    ['a--b.example.com', true, 'two'],
    ['-a.example.com', false, 'a hyphen at the front of a label'],
    ['a-.example.com', false, 'at its end'],
    ['example.-com', false, 'at the front of the last label'],
    ['example.com-', false, 'at its end'],
    ['example.com-.', false, 'and before a dot'],
    ['-', false, 'a hyphen alone'],
    ['otel_collector', true, 'an underscore, as in container names'],
    ['_otlp._tcp.example.com', true, 'at the front'],
    ['c_.example.com', true, 'at the end'],
    ['_', true, 'alone'],
    ['3com.com', true, 'a digit at the front'],
    ['1.example.com', true, 'a decimal label that is not the last'],
    ['0x1.example.com', true, 'a hexadecimal one'],
    ['example.1com', true, 'a last label that begins with a digit'],
    ['example.c1', true, 'that ends in one'],
    ['example.1_', true, 'a digit and an underscore'],
    ['example.08', false, 'a decimal last label that is no octal number'],
    ['example.1.', false, 'before a dot'],
    ['example.0x', false, 'hexadecimal without a digit, which WHATWG reads as 0'],
    ['example.0XaF', false, 'in capitals'],
    ['example.0xyz', false, 'and whatever else begins like one'],
    ['example.x0x1', true, '0x inside a label'],
    ['c.example.com%2e', false, 'an escaped dot, which WHATWG decodes'],
    ['c%6f.example.com', false, 'an escaped letter'],
    ['a!b.example.com', false, 'a sub-delimiter, which RFC 3986 allows and DNS software does not'],
    ['a*b.example.com', false, 'a wildcard'],
    ['a~b.example.com', false, 'a tilde'],
    ['$HOST', false, 'a template that was not expanded'],
    ['b\u00fccher.example', false, 'not ASCII'],
    ['XN--BCHER-KVA.example', true, 'an A-label in capitals'],
    ['xn--.example', false, 'an empty one'],
    ['xn--a.example', false, 'one that does not decode'],
    ['xn--localhost.example', false, 'nor does this'],
    ['xnn--a.example', true, 'no A-label'],
  ])('https://%.70s → %s (%s)', (host, acceptable) => {
    expect(isAcceptable(`https://${host}`)).toBe(acceptable);
    expect(isAcceptable(`https://${host}:4318/v1`)).toBe(acceptable);
  });
});

describe('O4: addresses, and numbers that some parsers take for addresses', () => {
  test.each([
    ['127.0.0.1', true, 'strict'],
    ['127.0.0.1.', false, 'a dot at the end'],
    ['127.0.0.01', false, 'a leading zero'],
    ['127.0.0.00', false, 'two zeros'],
    ['127.0.0.256', false, 'an octet too large'],
    ['127.0.0', false, 'three parts'],
    ['127.1', false, 'two parts'],
    ['127.0.0.1.1', false, 'five parts'],
    ['127.0..1', false, 'an empty part'],
    ['2130706433', false, 'decimal'],
    ['0x7f000001', false, 'hexadecimal'],
    ['0X7F.1', false, 'hexadecimal, short'],
    ['017700000001', false, 'octal'],
    ['1', false, 'a single digit'],
    ['0', false, 'zero'],
    ['0x', false, 'zero to WHATWG'],
    ['127.0.0.0x1', false, 'one hexadecimal octet'],
    ['[::1]', true, 'IPv6'],
    ['::1', false, 'without brackets'],
    ['[::1', false, 'unclosed'],
    ['::1]', false, 'unopened'],
    ['[[::1]]', false, 'twice'],
    ['[::1].', false, 'a dot after it'],
    ['[::1]8443', false, 'a port without its colon'],
    ['a[::1]', false, 'something before it'],
    ['[::1]a', false, 'after it'],
    ['[127.0.0.1]', false, 'IPv4 in brackets'],
    ['[localhost]', false, 'a name in brackets'],
    ['[]', false, 'nothing in brackets'],
    ['[:]', false, 'a colon'],
    ['[:::]', false, 'three colons'],
    ['[1::2::3]', false, 'two gaps'],
    ['[fd00:1:2:3:4:5:6:7]', true, 'eight groups'],
    ['[fd00:1:2:3:4:5:6]', false, 'seven'],
    ['[fd00:1:2:3:4:5:6::]', true, 'seven and a gap'],
    ['[fd00:1:2:3:4:5:6:7::]', false, 'eight and a gap'],
    ['[fd00:1:2:3:4:5:6:7:8]', false, 'nine'],
    ['[fd00:1:2:3:4:5:6:]', false, 'a colon at the end'],
    ['[:fd00:1:2:3:4:5:6]', false, 'a colon at the front'],
    ['[fd00::0001]', true, 'four digits'],
    ['[fd00::00001]', false, 'five'],
    ['[fd00::g]', false, 'no hexadecimal digit'],
    ['[fd00::1%eth0]', false, 'a zone'],
    ['[fd00::1%25eth0]', false, 'a zone, escaped'],
    ['[fd00::1%]', false, 'an empty zone'],
    ['[fd00::1/64]', false, 'a prefix length'],
    ['[v1.fe80::a]', false, 'a literal of a future version (RFC 3986)'],
    ['[fd00::1.2.3.4]', true, 'IPv4 at the end'],
    ['[fd00:1:2:3:4:5:1.2.3.4]', true, 'in place of two groups'],
    ['[fd00:1:2:3:4:5:6:1.2.3.4]', false, 'and one group too many'],
    ['[fd00::1.2.3.4:5]', false, 'IPv4 before the end'],
    ['[fd00::1.2.3]', false, 'of three parts'],
    ['[fd00::01.2.3.4]', false, 'with a leading zero'],
    ['[fd00::1.2.3.256]', false, 'with an octet too large'],
    ['[::ffff:127.0.0.1]', true, 'IPv4-mapped'],
  ])('%s → %s (%s)', (host, acceptable) => {
    expect(isAcceptable(`https://${host}`)).toBe(acceptable);
    expect(isAcceptable(`http://${host}:4318/v1`)).toBe(acceptable);
  });
});

const label = fc.stringMatching(/^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,20}[A-Za-z0-9_])?$/).filter((l) => !/^xn--/i.test(l));
const lastLabel = label.filter((l) => !/^(?:[0-9]+|0x.*)$/i.test(l));
const name = fc
  .tuple(fc.array(label, { maxLength: 5 }), lastLabel, fc.constantFrom('', '.'))
  .map(([labels, last, dot]) => [...labels, last].join('.') + dot);

test('every name that the grammar makes is accepted under https', () => {
  fc.assert(
    fc.property(name, (host) => {
      expect(endpointFault(`https://${host}:4318/v1`)).toBeUndefined();
    }),
    { seed: 1, numRuns: runs(300) },
  );
});
