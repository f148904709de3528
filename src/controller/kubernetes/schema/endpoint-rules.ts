import type { Rule } from './common.ts';

/*
 * The rules for a collector's endpoint that the API server can judge when a resource is applied. They are the rules of
 * domain/otel-config/collector-endpoint.ts as patterns, which must never refuse what that takes. It alone knows whether
 * an xn-- label is one, and has the last word.
 */

/**
 * A rule about a text in lower case, by patterns that mean the same in JavaScript and in RE2: `needs` must match, or
 * `never` must not, unless `unless` does.
 */
interface TextRule {
  readonly message: string;
  readonly needs?: string;
  readonly never?: string;
  readonly unless?: string;
}

const HEAD = '^[^/]*//';
/** The end of a host. */
const TAIL = '(:|/|$)';
const LABEL = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?';
const NAME = `${LABEL}(\\.${LABEL})*\\.?`;
const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const IPV4 = `${OCTET}(\\.${OCTET}){3}`;
const GROUP = '[0-9a-f]{1,4}';
const LAST = `(${GROUP}:${GROUP}|${IPV4})`;
/** At most so many groups before `::`. */
const upTo = (groups: number): string => `((${GROUP}:){0,${groups - 1}}${GROUP})?`;
/** RFC 3986, 3.2.2: IPv6address. */
const IPV6 = [
  `(${GROUP}:){6}${LAST}`,
  `::(${GROUP}:){5}${LAST}`,
  ...[4, 3, 2, 1, 0].map((after, index) => `${upTo(index + 1)}::(${GROUP}:){${after}}${LAST}`),
  `${upTo(6)}::${GROUP}`,
  `${upTo(7)}::`,
].join('|');
const PORT = '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';

/** The five groups of zeros before an IPv4 address that is written as IPv6, where none is left out. */
const FIVE_ZEROS = '(0{1,4}:){5}';
/**
 * An IPv6 address with an IPv4 address in it (`::ffff:10.0.0.1`).
 * @param dotted the IPv4 address
 * @param half its first half as a group of IPv6
 */
const mapped = (dotted: string, half: string): string =>
  `[0:]+:ffff:(${dotted}|(${half}):${GROUP})|${FIVE_ZEROS}ffff:(${half})::`;

const PRIVATE_IPV4 = `(127|10)(\\.${OCTET}){3}|(192\\.168|172\\.(1[6-9]|2[0-9]|3[01]))(\\.${OCTET}){2}`;
const PRIVATE_IPV6 = `f[cd][0-9a-f]{2}:[^\\]]*|[0:]+1|${mapped(PRIVATE_IPV4, '7f[0-9a-f]{2}|0?a[0-9a-f]{2}|ac1[0-9a-f]|c0a8')}`;
const PRIVATE_NAME = 'localhost\\.?|[^./:\\[]+|[^/:\\[]*\\.(localhost|local|lan|internal|home\\.arpa)\\.?';
const METADATA = 'metadata\\.(google|azure)\\.internal|metadata|instance-data';
/** 0.0.0.0/8 and 224.0.0.0/4. */
const NO_IPV4 = '(0|22[4-9]|23[0-9])(\\.[0-9]+){3}';
const NO_IPV6 = [
  '[0:.]+',
  'ff[0-9a-f]{2}:[^\\]]*',
  mapped(NO_IPV4, '0{0,2}[0-9a-f]{1,2}|e[0-9a-f]{3}'),
  `${FIVE_ZEROS}ffff::[0-9a-f]{0,4}`,
].join('|');

const HOST = 'The host of endpoint must be a host name, a plain dotted IPv4 address, or an IPv6 address in brackets.';
const NOWHERE = 'The host of endpoint is an unspecified or multicast address; name the address of one collector.';
const PUBLIC_HTTP = 'Plain http: is for loopback and private hosts only; use https: for this one.';

/** In the order, and with the words, of `endpointFault`; none is asked of an empty text. */
export const ENDPOINT_RULES: readonly TextRule[] = [
  {
    needs: '^[!-~]*$',
    message: 'endpoint may hold printable ASCII only; percent-encode the rest, and write a host name in its xn-- form.',
  },
  {
    never: '[?#]',
    message: 'endpoint must have neither a query nor a fragment; remove "?" or "#" and what follows.',
  },
  { needs: '^https?://[^/]', message: 'endpoint must begin with http:// or https:// and a host.' },
  {
    never: `${HEAD}[^/]*@`,
    message: 'endpoint must not hold credentials; remove what stands before "@" and send it as authHeader.',
  },
  { needs: `${HEAD}(${NAME}|\\[(${IPV6})\\])${TAIL}`, message: HOST },
  { needs: `${HEAD}([^/:]{1,253}\\.?|\\[[^/]*)${TAIL}`, message: HOST },
  { never: `${HEAD}([^/:]*\\.)?([0-9]+|0x[^./:]*)\\.?${TAIL}`, unless: `${HEAD}${IPV4}${TAIL}`, message: HOST },
  {
    needs: `${HEAD}(\\[[^/]*\\]|[^/:]*)(:${PORT})?(/|$)`,
    message:
      'The port of endpoint must be 1 to 65535 without leading zeros; correct it, or leave it out with its colon.',
  },
  {
    needs: `${HEAD}[^/]*(/([a-z0-9._~!$&'()*+,;=:@-]|%[0-9a-f]{2})*)*$`,
    message:
      'The path of endpoint holds a character or percent escape that RFC 3986 does not allow; percent-encode it.',
  },
  { never: `${HEAD}(${NO_IPV4}|\\[(${NO_IPV6})\\])${TAIL}`, message: NOWHERE },
  {
    never: '^http://',
    unless: `${HEAD}(${PRIVATE_NAME}|${PRIVATE_IPV4}|\\[(${PRIVATE_IPV6})\\])${TAIL}`,
    message: PUBLIC_HTTP,
  },
  { never: `^http://(${METADATA})\\.?${TAIL}`, message: PUBLIC_HTTP },
];

const matches = (pattern: string): string => `self.lowerAscii().matches(r"${pattern}")`;

/** The rule in CEL, for a field that is a text; an empty text passes. */
export function celOf({ needs, never, unless, message }: TextRule): Rule {
  const asked = [
    ...(needs === undefined ? [] : [matches(needs)]),
    ...(never === undefined ? [] : [`!${matches(never)}`]),
    ...(unless === undefined ? [] : [matches(unless)]),
  ];
  return { rule: ['self == ""', ...asked].join(' || '), message };
}
