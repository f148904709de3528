import * as z from 'zod';
import { LIMITS } from '../../domain/limits.ts';
import { SEVERITIES } from '../../domain/records/review-records.ts';
import { instantOf } from '../../time/rfc3339.ts';

/* The fields that several operations have. Each has a description and an example, from which the examples are made. */

/** The shapes of the ids, wherever they stand. */
export const APP_ID = /^[a-z0-9]{20}$/;
export const ACCOUNT_ID = /^[a-z0-9]{16}$/;
export const KEY_ID = /^[a-z0-9]{12}$/;
const USER_ID = /^[a-z0-9]{16}$/;
/** The hash of a session's token. */
const SESSION_ID = /^[A-Za-z0-9_-]{43}$/;
/** The hash of an issuer and a subject. */
const IDENTITY_ID = /^[A-Za-z0-9_-]{43}$/;
const LINK_ID = /^[a-z0-9]{12}$/;
const TOKEN_ID = /^[a-z0-9]{12}$/;
/** The id of a credential of WebAuthn, base64url: at most 1023 bytes. */
const PASSKEY_ID = /^[A-Za-z0-9_-]{1,1364}$/;
const ENTRY_ID = /^[a-z0-9]{20}-[0-9a-f]{32}$/;

/**
 * The schema with what the document says of it.
 * @param example is checked against the schema by a test; undefined where that of the parts is enough
 */
export const described = <Schema extends z.ZodType>(schema: Schema, description: string, example: unknown): Schema =>
  schema.meta({
    description,
    ...(example !== undefined && {
      examples: [example],
      // Zod drops the examples of what is transformed; they are those of the input.
      override: ({ jsonSchema }: { jsonSchema: { examples?: unknown[] } }) => {
        jsonSchema.examples ??= [example];
      },
    }),
  });

/**
 * The same with a name of its own in the document, as enums and objects have: generated clients make one type of it,
 * and name each other one after the place where it stands.
 */
export const named = <Schema extends z.ZodType>(
  id: string,
  schema: Schema,
  description: string,
  example?: unknown,
): Schema => described(schema, description, example).meta({ id });

const EXAMPLE_APP_ID = 'k3v9x0q2m7t5b8n1c4d6';

export const appId = described(z.string().regex(APP_ID), 'The id of the app.', EXAMPLE_APP_ID);
export const accountId = described(z.string().regex(ACCOUNT_ID), 'The id of the account.', 'a1b2c3d4e5f6g7h8');
export const keyId = described(z.string().regex(KEY_ID), 'The id of the API key; it is no secret.', 'n4c8r2w6y1z5');
export const entryId = described(
  z.string().regex(ENTRY_ID),
  'The id of the entry of the review queue.',
  `${EXAMPLE_APP_ID}-0f1e2d3c4b5a69788796a5b4c3d2e1f0`,
);

export const userId = described(z.string().regex(USER_ID), 'The id of the user.', 'p7q2r9s4t1u6v3w8');
export const sessionId = described(
  z.string().regex(SESSION_ID),
  'The id of the session; it is no secret.',
  'Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF',
);
export const linkId = described(z.string().regex(LINK_ID), 'The id of the link; it is no secret.', 'h5j1k8m3n6p2');
export const tokenId = described(
  z.string().regex(TOKEN_ID),
  'The id of the access token; it is no secret.',
  't7w3k9d2x5q8',
);
export const passkeyId = described(z.string().regex(PASSKEY_ID), 'The id of the passkey.', 'q83vEjRWeJq83vEjRWeJqw');

export const identityId = described(
  z.string().regex(IDENTITY_ID),
  'The id of the identity; it is no secret.',
  'Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF',
);

const BY_PARAMETER = { appId, accountId, keyId, entryId, userId, sessionId, linkId, passkeyId, tokenId };

/** The name of a parameter of a path. */
export type PathId = keyof typeof BY_PARAMETER;

/** The ids in paths, by the names of their parameters. */
export const PATH_IDS: Readonly<Record<PathId, z.ZodString>> & Readonly<Record<string, z.ZodString | undefined>> =
  BY_PARAMETER;

/** The body of a request of the operator API: a field that it lacks is refused (H5). */
export const closedBody = <Shape extends z.core.$ZodShape>(
  fields: z.ZodObject<Shape>,
  about: { readonly id: string; readonly description: string },
): z.ZodObject<Shape, z.core.$strict> => fields.strict().meta(about);

/** A pattern beside the format would keep generated clients from reading an answer: they check the text of a date. */
const ANSWERED = z.string().meta({ format: 'date-time' });

const DATE_TIME = 'must be a date-time of RFC 3339 with Z or an offset, such as 2027-01-31T00:00:00Z';

const DATE_TIME_CHARACTERS_MAX = 64;

/** An instant of a request, as whole milliseconds since 1970. Every date-time of RFC 3339 is taken. */
export const givenInstant = z
  .string()
  // A length beside the format would keep some generated clients from compiling: they measure a date.
  .meta({ format: 'date-time' })
  .transform((text, ctx) => {
    const at = text.length > DATE_TIME_CHARACTERS_MAX ? undefined : instantOf(text);
    if (at !== undefined) return at;
    ctx.issues.push({ code: 'custom', message: DATE_TIME, input: undefined });
    return z.NEVER;
  });

/** An instant of an answer: UTC with milliseconds and `Z`. */
export const instant = (description: string, example = '2026-01-31T09:30:00.000Z'): z.ZodString =>
  described(ANSWERED, `${description} UTC with milliseconds.`, example);

/** The same, or null. */
export const instantOrNull = (description: string, example = '2026-01-31T09:30:00.000Z'): z.ZodNullable<z.ZodString> =>
  described(ANSWERED.nullable(), `${description} UTC with milliseconds.`, example);

export const count = (description: string, example: number): z.ZodInt =>
  described(z.int().min(0), description, example);

/**
 * Any number. The format says how exact it is: generators take 32 bits without one. In a union it also keeps the types
 * apart as `anyOf`: as a mere list of types, which says the same, the usual generator for Go refuses them.
 */
export const double = z.number().meta({ format: 'double' });

export const evidenceLevel = named(
  'EvidenceLevel',
  z.enum(['hashes', 'redacted', 'full'], 'must be hashes, redacted or full'),
  'How much of a detection leaves the machine: the hash alone, redacted evidence too, or all of it.',
  'hashes',
);

export const entitlement = named(
  'Entitlement',
  z.enum(['standard', 'enterprise']),
  'What the account has bought; the OpenTelemetry configuration needs `enterprise`.',
  'enterprise',
);

export const appStatus = named(
  'AppStatus',
  z.enum(['pending', 'active', 'revoked']),
  '`pending` until the daemon enrolls, then `active`, and `revoked` once it is cut off.',
  'active',
);

export const severity = named('Severity', z.enum(SEVERITIES), 'How grave a detection is.', 'high');

export const next = described(
  z.string(),
  'The value of `after` for the next page; absent on the last one.',
  'a1b2c3d4e5f6g7h8',
).optional();

/** Only digits pass: a number of JavaScript may also be 1e2 or 0x10. */
function digits(most: number) {
  const rule = `must be a whole number from 1 to ${most}`;
  const whole = z.string(rule).regex(/^\d{1,6}$/, rule);
  return whole.transform(Number).pipe(z.int(rule).min(1, rule).max(most, rule));
}

/** The document has a number in place of the text, which has a pattern. */
const asNumber = (description: string, most: number, facts: object): z.core.GlobalMeta => ({
  description,
  override({ jsonSchema }) {
    delete jsonSchema.pattern;
    Object.assign(jsonSchema, { type: 'integer', minimum: 1, maximum: most, ...facts });
  },
});

/**
 * A number from 1 in a query, which is text.
 * @param most at most 999 999
 * @param fallback where the query does not have it
 */
export const numberInQuery = (most: number, fallback: number, description: string) =>
  digits(most)
    .default(fallback)
    .meta(asNumber(description, most, { default: fallback, examples: [fallback] }));

/** The same without a default, which a generated client would send. */
export const optionalNumberInQuery = (most: number, description: string) =>
  digits(most)
    .optional()
    .meta(asNumber(description, most, { examples: [most] }));

/** `true` or `false` in a query, documented as the boolean that it is: clients have a type of their own for an enum. */
export const booleanInQuery = (description: string) =>
  z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .meta({
      description,
      override({ jsonSchema }) {
        delete jsonSchema.enum;
        Object.assign(jsonSchema, { type: 'boolean', examples: [true] });
      },
    });

/**
 * Values in a query, with commas between; none in an empty text.
 * @param value the form of one, without anchors
 */
export const listInQuery = (value: string, most: number, rule: string) =>
  z
    .string(rule)
    .regex(new RegExp(`^(${value}(,${value}){0,${most - 1}})?$`), rule)
    .transform((text): readonly string[] => (text === '' ? [] : text.split(',')));

const limit = numberInQuery(
  LIMITS.listPageMax,
  LIMITS.listPageDefault,
  `The most entries of the page; ${LIMITS.listPageDefault} without it.`,
);
const after = described(
  z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the next of the page before'),
  'Begins after this place: the `next` of the page before.',
  'a1b2c3d4e5f6g7h8',
).optional();

/** The query of a list that comes in pages. */
export const pageQuery = z.object({ limit, after });

/** The body of every error. The codes of an operation stand with its answers. */
export const errorBody = z
  .object({
    error: named(
      'ErrorDetail',
      z.object({
        code: described(z.string(), 'Tells the error apart, for programs.', 'rate_limited'),
        message: described(z.string(), 'Says what is wrong and what to do, for people.', 'Too many requests.'),
      }),
      'What is wrong.',
    ),
  })
  .meta({ id: 'Error', description: 'An error.' });

export const enrollCode = described(
  z.string().regex(/^mst_code_[0-9A-Za-z]{49}$/),
  'A single-use enrollment code, a secret. No other answer shows it, but one to the same `Idempotency-Key`.',
  `mst_code_${'0'.repeat(43)}1jxTqE`,
);
export const codeExpiry = instant(
  'When the code ends to be valid, 30 days after it was issued.',
  '2026-03-01T12:00:00.000Z',
);
