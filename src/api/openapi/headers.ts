import * as z from 'zod';
import { LIMITS } from '../../domain/limits.ts';
import type { RefusalCode } from '../../domain/refusal.ts';
import { ERRORS, type ErrorCode } from '../http/errors.ts';
import { CACHE_CONTROL } from '../http/response.ts';
import type { AnswerHeader, Operation, RequestHeader } from '../contract/operation.ts';
import type { ApiName } from './apis.ts';

/*
 * The headers of requests and answers, as the documents have them. No header of an answer is required or has a pattern:
 * a proxy may drop it or change it, and a generated client would then refuse the whole answer.
 */

interface Header {
  readonly description: string;
  readonly schema: { readonly type: 'string' | 'integer' };
  readonly example: string | number;
}

export type HeaderName =
  AnswerHeader | 'Cache-Control' | 'RateLimit' | 'RateLimit-Policy' | 'WWW-Authenticate' | 'X-Request-Id';

const text = (description: string, example: string): Header => ({ description, schema: { type: 'string' }, example });

const { requestsPerWindowMax, rateWindowMs } = LIMITS;
const POLICY = `"account";q=${requestsPerWindowMax};w=${rateWindowMs / 1000}`;

/** The headers of answers, by name. */
export const ANSWER_HEADERS: Readonly<Record<HeaderName, Header>> = {
  'Cache-Control': text('No answer may be cached, or changed on its way.', CACHE_CONTROL),
  ETag: text('A tag of the configuration, for `If-Match` and `If-None-Match`.', '"7-Zk3xQ9-60"'),
  'Idempotency-Replayed': text('The answer was given before, for the same `Idempotency-Key`.', 'true'),
  Link: text(
    'The next page (RFC 8288); absent on the last one.',
    '</operator/v1/usage?month=2026-01&limit=100&after=a1b2c3d4e5f6g7h8>; rel="next"',
  ),
  'Muster-Usage-Complete': text('Whether every night that has ended is metered.', 'true'),
  RateLimit: text(
    'What is left of the account’s requests (`r`), and the seconds until more are free (`t`).',
    '"account";r=599;t=60',
  ),
  'RateLimit-Policy': text(
    `The limit: ${requestsPerWindowMax} requests in any ${rateWindowMs / 1000} seconds.`,
    POLICY,
  ),
  'Retry-After': {
    description: 'Seconds to wait before the next request.',
    schema: { type: 'integer' },
    example: 3,
  },
  Location: text('Where the browser goes on.', '/'),
  'Set-Cookie': text(
    'A cookie of the panel, which no script can read.',
    '__Host-muster=…; Path=/; HttpOnly; Secure; SameSite=Lax',
  ),
  'Content-Disposition': text('The name of the file to save.', 'attachment; filename="usage-2026-01.csv"'),
  'WWW-Authenticate': text('The scheme of authentication.', 'Bearer'),
  'X-Request-Id': text(
    'The id of the request, the client’s own where it sent one: it is in the log and the audit.',
    'deploy-42',
  ),
};

/** The tags of the panel, which every read has. */
const OF_PANEL: Partial<Record<HeaderName, Header>> = {
  ETag: text(
    'A weak tag of the answer, for the `If-None-Match` of the same user with the same role.',
    'W/"60f1a2b3c4d5e6f7a8b9c0d1e2f3a4b5"',
  ),
};

/** A header of answers, as an API has it. */
export const answerHeader = (api: ApiName, name: HeaderName): Header =>
  (api === 'panel' ? OF_PANEL[name] : undefined) ?? ANSWER_HEADERS[name];

const EVERY: readonly HeaderName[] = ['Cache-Control', 'X-Request-Id'];
const RATE: readonly HeaderName[] = ['RateLimit', 'RateLimit-Policy'];

/** The headers that an operation's success may have. */
export const successHeaders = (api: ApiName, own: readonly AnswerHeader[] = []): readonly HeaderName[] => [
  ...EVERY,
  ...(api === 'v1' ? RATE : []),
  ...own,
];

/** The headers that an error may have, by the codes that share its status. */
export function errorHeaders(
  api: ApiName,
  codes: readonly [ErrorCode, ...ErrorCode[]],
  { ticket = false }: { readonly ticket?: boolean },
): readonly HeaderName[] {
  const { status } = ERRORS[codes[0]];
  const names: HeaderName[] = [...successHeaders(api)];
  if (status === 401 && (api !== 'panel' || codes.includes('invalid_token'))) names.push('WWW-Authenticate');
  if (codes.some((code) => code === 'rate_limited' || 'retryAfter' in ERRORS[code])) names.push('Retry-After');
  if (ticket && status === 429) names.push('Set-Cookie');
  return names;
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
  'Muster-Instance-Id': printable(
    'An id that the daemon makes anew at each start, by which machines that share a credential are found.',
    '5f0c2a9e7b1d4836a0c4e2f86d1b9375',
  ),
  Accept: z
    .string()
    .optional()
    .meta({
      description: 'The media type that the client prefers (RFC 9110, 12.5.1).',
      examples: ['application/json'],
    }),
};

const TAGS_OF_PANEL = z
  .string()
  .optional()
  .meta({
    description: 'The tags of the answers that the client has.',
    examples: ['W/"60f1a2b3c4d5e6f7a8b9c0d1e2f3a4b5"'],
  });

/** The headers of an operation's request. */
export function requestHeaders(api: ApiName, { headers = [], idempotency }: Operation): z.ZodObject {
  const schemaOf = (name: RequestHeader): z.ZodType =>
    api === 'panel' && name === 'If-None-Match' ? TAGS_OF_PANEL : REQUEST_HEADERS[name];
  const own = headers.filter((name) => name !== 'Accept').map((name) => [name, schemaOf(name)]);
  return z.object({
    'X-Request-Id': requestId,
    ...(idempotency && { 'Idempotency-Key': idempotencyKey(idempotency.malformed) }),
    ...(Object.fromEntries(own) as Record<string, z.ZodType>),
  });
}
