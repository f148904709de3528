import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endpointFault } from '../../../src/domain/otel-config/collector-endpoint.ts';
import { codePoint } from '../../support/http/code-points.ts';
import { runs } from '../../support/run/effort.ts';

interface EndpointVector {
  readonly id: string;
  readonly endpoint: string;
  readonly accept: boolean;
  readonly why: string;
}

const vectors = JSON.parse(
  readFileSync(new URL('../../vectors/endpoint.json', import.meta.url), 'utf8'),
) as EndpointVector[];

const isAcceptable = (endpoint: string) => endpointFault(endpoint) === undefined;

describe('the shared vectors', () => {
  test.each(vectors.map((vector) => [vector.id, vector.accept, vector.why, vector.endpoint] as const))(
    '%s → %s (%s)',
    (_id, accept, _why, endpoint) => {
      expect(isAcceptable(endpoint)).toBe(accept);
    },
  );
});

describe('O4: the grammar of the raw string', () => {
  test.each([
    ['', false, 'nothing'],
    ['http:', false, 'a scheme alone'],
    ['https:/c.example.com', false, 'one slash, which WHATWG repairs'],
    ['https:///c.example.com', false, 'three slashes, which WHATWG repairs'],
    ['https:\\\\c.example.com', false, 'backslashes, which WHATWG repairs'],
    ['https//c.example.com', false, 'no colon'],
    ['xhttps://c.example.com', false, 'a scheme that ends in https'],
    ['httpss://c.example.com', false, 'a scheme that begins with https'],
    ['hTtPs://c.example.com', true, 'the scheme is case-insensitive'],
    ['grpc://c.example.com', false, 'the scheme that OTLP users try first'],
    ['https://c.example.com\u007f', false, 'DEL is ASCII and not printable'],
    ['https://c.example.com/\u00e9', false, 'Latin-1 in the path, which WHATWG encodes'],
    ['https://c.example.com ', false, 'a trailing space, which WHATWG trims'],
    ['\nhttps://c.example.com', false, 'a leading newline, which WHATWG trims'],
    ['https://user@c.example.com', false, 'a user'],
    ['https://@c.example.com', false, 'an empty userinfo leaves no trace in a parsed URL'],
    ['https://:@c.example.com', false, 'nor does an empty password'],
    ['https://user%40c.example.com', false, 'a percent escape in the host'],
    ['https://c.example.com/@', true, 'an @ may stand in the path'],
    ['https://c.example.com/a:b@d', true, 'even where it looks like userinfo'],
    ['https://c.example.com/?', false, 'an empty query is still a query'],
    ['https://c.example.com/#', false, 'an empty fragment is still a fragment'],
    ['https://?', false, 'a query for a host'],
    ['https://c.example.com\\', false, 'a backslash at the end'],
    ['https://c.example.com;v1', false, 'a semicolon belongs to a path'],
    [`https://c.example.com/${'a'.repeat(2026)}`, true, 'exactly 2048 characters'],
    [`https://c.example.com/${'a'.repeat(2027)}`, false, 'one beyond'],
  ])('%.60j → %s (%s)', (endpoint, acceptable) => {
    expect(isAcceptable(endpoint)).toBe(acceptable);
  });
});

describe('O4: port', () => {
  test.each([
    ['', true, 'none'],
    [':1', true, 'the first'],
    [':0', false, 'nobody can connect to it'],
    [':65535', true, 'the last'],
    [':65536', false, 'one beyond'],
    [':100000', false, 'six digits'],
    [':4294967739', false, '443 for those who keep 32 bits'],
    [':', false, 'an empty port, which WHATWG drops'],
    [':443', true, "the scheme's own, which WHATWG drops"],
    [':80', true, "the other scheme's own"],
    [':0443', false, 'a leading zero'],
    [': 443', false, 'a space'],
    [':4e3', false, 'a number to Number()'],
    [':0x50', false, 'a number to some'],
    [':443:', false, 'a second colon'],
    [':443a', false, 'a letter after it'],
  ])('https://c.example.com%s → %s (%s)', (port, acceptable) => {
    expect(isAcceptable(`https://c.example.com${port}`)).toBe(acceptable);
    expect(isAcceptable(`https://c.example.com${port}/v1`)).toBe(acceptable);
    expect(isAcceptable(`http://[::1]${port}`)).toBe(acceptable);
  });
});

describe('O4: path', () => {
  test.each([
    ['/', true, 'the root'],
    ['//', true, 'empty segments are segments'],
    ['/v1//traces/', true, 'also inside, and at the end'],
    ["/-._~!$&'()*+,;=:@azAZ09", true, 'every pchar that needs no escape'],
    ['/%00%2f%C3%A9', true, 'escapes are not decoded, whatever they stand for'],
    ['/%2', false, 'an escape of one digit'],
    ['/%', false, 'of none'],
    ['/%g0', false, 'of a letter that is no digit'],
    ['/%2/', false, 'cut off by a slash'],
    ['/%%41', false, 'a percent sign before an escape'],
    ['/a b', false, 'a space'],
    ['/a"b', false, 'a double quote'],
    ['/a<b', false, 'less-than'],
    ['/a>b', false, 'greater-than'],
    ['/a[b', false, 'an opening bracket'],
    ['/a]b', false, 'a closing bracket'],
    ['/a\\b', false, 'a backslash'],
    ['/a^b', false, 'a caret'],
    ['/a`b', false, 'a backtick'],
    ['/a{b', false, 'an opening brace'],
    ['/a|b', false, 'a bar'],
    ['/a}b', false, 'a closing brace'],
    ['/a?b', false, 'a query'],
    ['/a#b', false, 'a fragment'],
  ])('%s → %s (%s)', (path, acceptable) => {
    expect(isAcceptable(`https://c.example.com${path}`)).toBe(acceptable);
    expect(isAcceptable(`http://[::1]:4318${path}`)).toBe(acceptable);
  });
});

test.each([
  ['ftp://hunter2.example.com', /http:\/\/ or https:\/\//],
  ['https://hunter2:hunter2@c.example.com', /credentials.*authHeader/],
  ['https://c.example.com/?token=hunter2', /query/],
  ['https://c.example.com/#hunter2', /fragment/],
  ['https://hunter2-.example.com', /host/],
  ['https://c.example.com:hunter2', /port/],
  ['https://c.example.com/hunter2|', /path/],
  ['https://c.example.com/hunter2 ', /ASCII/],
  ['https://224.0.0.1/hunter2', /multicast/],
  ['http://hunter2.example.com', /use https/],
  [`https://c.example.com/${'hunter2'.repeat(300)}`, /2048/],
])('the sentence about %.60j says what is wrong and repeats nothing', (endpoint, says) => {
  expect(endpointFault(endpoint)).toMatch(says);
  expect(endpointFault(endpoint)).not.toContain('hunter2');
});

const path = fc.stringMatching(/^(?:\/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2}){0,8}){0,4}$/);
const port = fc.option(fc.integer({ min: 1, max: 65_535 })).map((n) => (n === null ? '' : `:${n}`));

/** Endpoints that are nearly right: valid pieces, and now and then a piece that some parser forgives. */
const traps = ['@', '?', '#', '\\', '%', '%2e', ':', '..', '/', '[', ']', ' ', '\t', '\n', '0x1', '-', '。'];
const nearlyRight = fc
  .tuple(
    fc.constantFrom('http://', 'https://', 'HTTPS://', 'https:/', 'ws://'),
    fc.oneof(
      fc.stringMatching(/^[A-Za-z0-9._-]{1,20}$/),
      fc.ipV4(),
      fc.ipV6().map((address) => `[${address}]`),
      fc.domain(),
    ),
    port,
    path,
    fc.option(fc.tuple(fc.constantFrom(...traps), fc.nat({ max: 40 })), { freq: 1 }),
  )
  .map(([scheme, host, port, path, spoiler]) => {
    const endpoint = scheme + host + port + path;
    if (spoiler === null) return endpoint;
    const [piece, at] = spoiler;
    return endpoint.slice(0, at) + piece + endpoint.slice(at);
  });

test('whatever is accepted means the same to WHATWG, and hides nothing', () => {
  let [drawn, accepted] = [0, 0];
  fc.assert(
    fc.property(nearlyRight, (endpoint) => {
      drawn += 1;
      if (!isAcceptable(endpoint)) return;
      accepted += 1;
      expect(endpoint).toMatch(/^https?:\/\/[\x21-\x7e]+$/i);
      expect(endpoint).not.toMatch(/[?#\\]/);
      const authority = endpoint.split('/')[2] ?? '';
      const host = authority.replace(/:\d+$/, '').toLowerCase();
      const url = new URL(endpoint);
      expect(url.protocol).toBe(endpoint.slice(0, endpoint.indexOf(':') + 1).toLowerCase());
      expect(url.username + url.password + url.search + url.hash).toBe('');
      expect(url.hostname).toBe(host.startsWith('[') ? new URL(`http://${host}`).hostname : host);
      expect(authority.includes('@')).toBe(false);
    }),
    { seed: 1, numRuns: runs(600) },
  );
  expect(accepted).toBeGreaterThan(drawn / 6);
});

test('no string of any kind makes it throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: codePoint }), nearlyRight, fc.string({ unit: 'grapheme' })), (text) => {
      expect(['undefined', 'string']).toContain(typeof endpointFault(text));
      expect(['undefined', 'string']).toContain(typeof endpointFault(`https://${text}`));
    }),
    { seed: 1, numRuns: runs(300) },
  );
});
