import type * as z from 'zod';
import { LIMITS } from '../../domain/limits.ts';
import { Refusal, type RefusalCode } from '../../domain/refusal.ts';
import type { AwaitedBodies } from './awaited-bodies.ts';
import { HttpRefusal } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { wordsOfIssue } from './fields.ts';
import { BODY_LIMITS, parseJsonObject, readBody } from './request-body.ts';

/** The code with which each field is refused; a field without one does not compile. */
export type FieldCodes<Shape extends z.core.$ZodShape> = { readonly [Field in keyof Shape]: RefusalCode };

/** A body, and the codes of its fields; an operation has both. */
export interface Judged<Shape extends z.core.$ZodShape> {
  readonly body: z.ZodObject<Shape>;
  readonly refuse: FieldCodes<Shape>;
}

/**
 * Reads and validates a whole body before anything is done with it (H1, H2, H7). An absent body counts as `{}`, so that
 * the fields say what is missing.
 * `refuse` may be one code for every field.
 * @param broken the code for a body that is no JSON object
 * @param awaited bounds the bodies that are waited for; the exchange's own are those of authenticated requests
 * @throws Refusal for the first wrong field in the order of the shape; HttpRefusal `payload_too_large` or `overloaded`;
 * Busy
 */
export async function readJson<Shape extends z.core.$ZodShape>(
  exchange: Exchange,
  { body: schema, refuse: codes }: Pick<Judged<Shape>, 'body'> & { readonly refuse: FieldCodes<Shape> | RefusalCode },
  broken: RefusalCode,
  awaited: AwaitedBodies = exchange.awaitedBodies,
): Promise<z.infer<z.ZodObject<Shape>>> {
  const bytes = await readBytes(exchange, broken, awaited);
  if (!bytes) return validated(schema, codes, broken, {});
  const parsed = parseJsonObject(bytes);
  if (parsed.kind === 'not_json') throw new Refusal(broken, 'The body is not valid JSON.');
  if (parsed.kind === 'not_object') throw new Refusal(broken, 'The body must be a JSON object.');
  return validated(schema, codes, broken, parsed.value);
}

/**
 * Reads a whole body with the bounds of H7, whatever is in it.
 * @param broken the code for a body that cannot be read
 * @returns undefined for an absent body
 * @throws Refusal; HttpRefusal `payload_too_large` or `overloaded`; Busy
 */
export async function readBytes(
  exchange: Exchange,
  broken: RefusalCode,
  awaited: AwaitedBodies = exchange.awaitedBodies,
): Promise<Buffer | undefined> {
  const limits = { ...BODY_LIMITS, bytesMax: LIMITS.requestBodyBytesMax, awaited };
  const body = await readBody(exchange.request, exchange.response, exchange.principal, limits);
  switch (body.kind) {
    case 'too_large':
      throw new HttpRefusal('payload_too_large');
    case 'overloaded':
      throw exchange.overloaded();
    case 'unreadable':
      throw new Refusal(broken, body.why);
    case 'empty':
      return undefined;
    case 'bytes':
      return body.bytes;
  }
}

function validated<Shape extends z.core.$ZodShape>(
  schema: z.ZodObject<Shape>,
  codes: FieldCodes<Shape> | RefusalCode,
  broken: RefusalCode,
  value: Record<string, unknown>,
): z.infer<z.ZodObject<Shape>> {
  const parsed = schema.safeParse(value, { error: wordsOfIssue });
  if (parsed.success) return parsed.data;
  // O3: the first wrong field in the order of the table is told, which is the order of the shape.
  for (const field of Object.keys(schema.shape)) {
    const issue = parsed.error.issues.find((fault) => fault.path[0] === field);
    if (!issue) continue;
    throw new Refusal(typeof codes === 'string' ? codes : codes[field as keyof Shape], sentence(field, issue));
  }
  const [issue] = parsed.error.issues;
  throw new Refusal(broken, issue?.code === 'unrecognized_keys' ? unknownField(issue.keys) : issue?.message);
}

const FIELD_CHARACTERS_MAX = 100;

/** Only a strict schema refuses unknown fields (the operator API). The name is the caller's: cut, and escaped. */
const unknownField = ([name = '']: readonly string[]): string =>
  `${JSON.stringify(name.slice(0, FIELD_CHARACTERS_MAX))}: there is no such field.`;

function sentence(field: string, issue: z.core.$ZodIssue): string {
  // A nested place is named only where the service chose its name: list positions and fields of its own schemas.
  const place = [field, ...issue.path.slice(1)].map(String).join('.');
  return issue.message.startsWith(field) ? issue.message : `${place}: ${issue.message}`;
}
