import fc from 'fast-check';
import vectors from '../../vectors/endpoint.json' with { type: 'json' };

/* Endpoints of collectors on which the operator and the definitions must agree. */

const NEARLY: readonly string[] = [
  'https://a b',
  'https://c.example.com:4318/v1/logs',
  'https://',
  'https:///path',
  'https://user@c.example.com',
  'https://c.example.com/@',
  'https://c.example.com:0',
  'https://c.example.com:65535',
  'https://c.example.com:65536',
  'https://c.example.com:080',
  'https://c.example.com:',
  'https://c..example.com',
  'https://c.example.com..',
  'https://-c.example.com',
  'https://c_.example.com',
  `https://${'a'.repeat(63)}.b`,
  `https://${'a'.repeat(64)}.b`,
  `https://${'a.'.repeat(126)}a`,
  `https://${'a.'.repeat(126)}a.`,
  `https://${'a.'.repeat(126)}ab`,
  'https://10.0.0',
  'https://10.0.0.1.',
  'https://10.0.0.0x1',
  'https://0x10.example.com',
  'https://256.0.0.1',
  'https://0.0.0.0',
  'https://224.0.0.1',
  'https://240.0.0.1',
  'https://[::]',
  'https://[0:0::0.0.0.0]',
  'https://[ff02::1]',
  'https://[1:2:3:4:5:6:7::]',
  'https://[1:2:3:4:5:6:7:8:9]',
  'https://[fe80::1%25eth0]',
  'https://[::1]8443',
  'http://172.31.255.255',
  'http://172.32.0.0',
  'http://192.168.0.1:80/',
  'http://169.254.169.254',
  'http://[::1]',
  'http://[0:0:0:0:0:0:0:1]:4318',
  'http://[::2]',
  'http://[fd00::1]',
  'http://[fe80::1]',
  'http://[fc::1]',
  'http://[::ffff:10.0.0.1]',
  'http://[::ffff:a00:1]',
  'http://[0:0:0:0:0:ffff:a00::]',
  'http://[::ffff:8.8.8.8]',
  'http://[::ffff:0:a00:1]',
  'http://collector',
  'http://collector.',
  'http://localhost.',
  'http://LOCALHOST',
  'http://metadata',
  'http://metadata.google.internal.',
  'http://metadata.example.internal',
  'http://otel.lan',
  'http://otel.home.arpa:4318/v1/logs',
  'HTTP://otel.example.com',
  'https://c.example.com/a%2',
  'https://c.example.com/a|b',
  'https://c.example.com/?',
  'https://c.example.com/\u00e9',
  'https://c.example.com\n',
];

/** The endpoints of the tables, one of each kind. */
export const KNOWN_ENDPOINTS: readonly string[] = [
  ...NEARLY,
  ...vectors.map(({ endpoint }) => endpoint).filter((endpoint) => endpoint !== ''),
];

const GROUP = fc.constantFrom('0', '1', 'ffff', 'a00', '7f00', 'c0a8', 'fd00', 'ff02', 'ac1f', 'AC20', '0A00');
const IPV6 = fc
  .tuple(
    fc.array(GROUP, { maxLength: 7 }),
    fc.constantFrom('::', ':'),
    fc.array(GROUP, { maxLength: 3 }),
    fc.constantFrom('', '', ':10.0.0.1', ':8.8.8.8', ':0.0.0.0'),
  )
  .map(([before, gap, after, tail]) => `[${before.join(':')}${gap}${after.join(':')}${tail}]`);
const HOST = fc.oneof(
  IPV6,
  fc.ipV6().map((address) => `[${address}]`),
  fc.ipV4(),
  fc.domain(),
  fc.stringMatching(/^[A-Za-z0-9._-]{1,12}$/),
  fc.stringMatching(/^(?:10|127|172|192|224|0)\.(?:16|168|32|0)\.[0-9]{1,3}\.[0-9]{1,3}$/),
  fc
    .tuple(
      fc.constantFrom('otel', 'metadata', 'a.b'),
      fc.constantFrom('.local', '.internal', '.LAN', '.home.arpa.', '.'),
    )
    .map((parts) => parts.join('')),
);
const PORT = fc.oneof(
  fc.constantFrom('', '', ':', ':0', ':65536'),
  fc.integer({ min: 1, max: 99_999 }).map((n) => `:${n}`),
);
const PATH = fc.constantFrom('', '/', '/v1/logs', '/a%2e', '/a%', '/a b', '/?', '/#', '/a@b:c', '//', '/\\');

/** Endpoints that are nearly right, of every reach. */
export const drawnEndpoint: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom('http://', 'https://', 'HTTP://', 'Https://', 'https:/'), HOST, PORT, PATH)
  .map((parts) => parts.join(''));

/** What the definitions cannot say: whether a label that claims to be internationalised is so. */
export const isBeyondPatterns = (endpoint: string): boolean => /xn--/i.test(endpoint);
