import * as z from 'zod';
import { LIMITS } from '../../domain/limits.ts';
import type { RefusalCode } from '../../domain/refusal.ts';
import { ERRORS, type ErrorCode } from '../http/errors.ts';
import type { AnswerHeader, Operation, RequestHeader } from '../contract/operation.ts';
import type { ApiName } from './apis.ts';

/* The headers of requests and answers, as the documents have them. */

interface Header {
  readonly description: string;
  readonly schema: { readonly type: 'string' | 'integer'; readonly pattern?: string; readonly minimum?: number };
  readonly example: string | number;
}

type HeaderName =
  AnswerHeader | 'Cache-Control' | 'RateLimit' | 'RateLimit-Policy' | 'WWW-Authenticate' | 'X-Request-Id';

const text = (description: string, example: string, pattern?: string): Header => ({
  description,
  schema: { type: 'string', ...(pattern !== undefined && { pattern }) },
  example,
});

const { requestsPerWindowMax, rateWindowMs } = LIMITS;
const POLICY = `"account";q=${requestsPerWindowMax};w=${rateWindowMs / 1000}`;

/** The headers of answers, by name. */
export const ANSWER_HEADERS: Readonly<Record<HeaderName, Header>> = {
  'Cache-Control': text('No answer may be cached.', 'no-store', '^no-store$'),
  ETag: text('A tag of the configuration, for `If-Match` and `If-None-Match`.', '"7-Zk3xQ9-60"', '^".*"$'),
  'Idempotency-Replayed': text('The answer was given before, for the same `Idempotency-Key`.', 'true', '^true$'),
  Link: text(
    'The next page (RFC 8288); absent on the last one.',
    '</operator/v1/usage?month=2026-01&limit=100&after=a1b2c3d4e5f6g7h8>; rel="next"',
  ),
  'Muster-Usage-Complete': text('Whether every night that has ended is metered.', 'true', '^(true|false)$'),
  RateLimit: text(
    'What is left of the account’s requests (`r`), and the seconds until more are free (`t`).',
    '"account";r=599;t=60',
    '^"account";r=\\d+;t=\\d+$',
  ),
  'RateLimit-Policy': text(
    `The limit: ${requestsPerWindowMax} requests in any ${rateWindowMs / 1000} seconds.`,
    POLICY,
  ),
  'Retry-After': {
    description: 'Seconds to wait before the next request.',
    schema: { type: 'integer', minimum: 1 },
    example: 3,
  },
  Location: text('Where the browser goes on.', '/'),
  'Set-Cookie': text(
    'A cookie of the panel, which no script can read.',
    '__Host-muster=…; Path=/; HttpOnly; Secure; SameSite=Lax',
  ),
  'Content-Disposition': text('The name of the file to save.', 'attachment; filename="usage-2026-01.csv"'),
  'WWW-Authenticate': text('The scheme of authentication.', 'Bearer', '^Bearer$'),
  'X-Request-Id': text(
    'The id of the request, the client’s own where it sent one: it is in the log and the audit.',
    'deploy-42',
    '^[A-Za-z0-9._-]{1,128}$',
  ),
};

type Required = Partial<Record<HeaderName, boolean>>;
const EVERY: Required = { 'Cache-Control': true, 'X-Request-Id': true };
/** Successes of which these are always there; the others depend on the request. */
const ALWAYS: ReadonlySet<HeaderName> = new Set(['ETag', 'Muster-Usage-Complete']);

/** The headers of an operation's success, and whether each is always there. */
export function successHeaders(api: ApiName, headers: readonly AnswerHeader[] = []): Required {
  const own = Object.fromEntries(headers.map((name) => [name, ALWAYS.has(name)]));
  return { ...EVERY, ...(api === 'v1' && RATE), ...own };
}
const RATE: Required = { RateLimit: true, 'RateLimit-Policy': true };

/** The headers of an error, by the codes that share its status. */
export function errorHeaders(
  api: ApiName,
  codes: readonly [ErrorCode, ...ErrorCode[]],
  { ticket = false }: { readonly ticket?: boolean } = {},
): Required {
  const { status } = ERRORS[codes[0]];
  const waits = codes.filter((code) => code === 'rate_limited' || 'retryAfter' in ERRORS[code]);
  return {
    ...EVERY,
    // Both may come before the account is charged; a 401 comes after it where the key is revoked meanwhile.
    ...(api === 'v1' && (status === 401 || status === 502 ? { RateLimit: false, 'RateLimit-Policy': false } : RATE)),
    ...(status === 401 && api !== 'panel' && { 'WWW-Authenticate': true }),
    ...(waits.length > 0 && { 'Retry-After': waits.length === codes.length }),
    ...(ticket && status === 429 && { 'Set-Cookie': false }),
  };
}

// A header that is ignored in another form takes any text: only what is refused has a pattern.
const requestId = z
  .string()
  .optional()
  .meta({
    description: 'An id of your own for the request: 1 to 128 of `A-Z a-z 0-9 . _ -`; another form of it is ignored.',
    examples: ['deploy-42'],
  });
const idempotencyKey = (malformed: RefusalCode | 'ignored') => {
  const schema = malformed === 'ignored' ? z.string() : z.string().regex(/^[\x20-\x7e]{1,255}$/);
  return schema.optional().meta({
    description:
      'For 24 hours the same key gets the same answer: send a new one with each create, and the same again where an ' +
      `answer was lost. 1 to 255 printable ASCII characters; another form of it is ${malformed === 'ignored' ? 'ignored' : 'refused'}.`,
    examples: ['edge-1'],
  });
};

const printable = (description: string, example: string) =>
  z
    .string()
    .optional()
    .meta({
      description: `${description} 1 to ${LIMITS.deviceTextCharactersMax} printable ASCII characters; another form of it is ignored.`,
      examples: [example],
    });

const REQUEST_HEADERS: Readonly<Record<RequestHeader, z.ZodType>> = {
  'If-Match': z
    .string()
    .optional()
    .meta({
      description: 'The tag of the configuration over which the change is made; `*` is any that is stored.',
      examples: ['"7-60f1a2b3c4d5e6f7"'],
    }),
  'If-None-Match': z
    .string()
    .optional()
    .meta({
      description: 'The tags of the configurations that the client has.',
      examples: ['"7-Zk3xQ9-60"'],
    }),
  Prefer: z
    .string()
    .optional()
    .meta({
      description: `\`wait=N\` (RFC 7240) holds a poll that would be 304 for N seconds, at most ${LIMITS.pollWaitSecondsMax}.`,
      examples: ['wait=50'],
    }),
  'Muster-Platform': printable('The platform of the machine, where it has changed.', 'linux/arm64'),
  'Muster-Agent-Version': printable('The version of the daemon, where it has changed.', '1.4.3'),
  Accept: z
    .string()
    .optional()
    .meta({
      description: 'The media type that the client prefers (RFC 9110, 12.5.1).',
      examples: ['application/json'],
    }),
};

/** The headers of an operation's request. */
export function requestHeaders({ headers = [], idempotency }: Operation): z.ZodObject {
  const own = headers.filter((name) => name !== 'Accept').map((name) => [name, REQUEST_HEADERS[name]]);
  return z.object({
    'X-Request-Id': requestId,
    ...(idempotency && { 'Idempotency-Key': idempotencyKey(idempotency.malformed) }),
    ...(Object.fromEntries(own) as Record<string, z.ZodType>),
  });
}
