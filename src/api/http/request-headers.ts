import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { output, ZodObject } from 'zod';
import { accessTokenId, apiKeyId, bearerToken, isCredential, tokenHash } from '../../domain/credentials/tokens.ts';
import { Refusal, type RefusalCode } from '../../domain/refusal.ts';
import { wordsOfIssue } from './fields.ts';

/**
 * The content of a request's Authorization field. It does not tell whether the token is valid: each request asks the
 * fleet whose token it is and whether it works now (A12).
 */
class Bearer {
  /** Undefined without a field, with several of them, and with one that is no bearer token (H16). */
  readonly token: string | undefined;
  #hash: string | undefined;
  #keyId: string | undefined;
  #tokenId: string | undefined;
  #matched: string | undefined;

  constructor(fields: readonly string[]) {
    this.token = bearerToken(fields);
  }

  /** The id in a well-formed API key; undefined for any other token. */
  get keyId(): string | undefined {
    return (this.#keyId ??= this.token === undefined ? undefined : apiKeyId(this.token));
  }

  /** The id in a well-formed access token; undefined for any other token. */
  get accessTokenId(): string | undefined {
    return (this.#tokenId ??= this.token === undefined ? undefined : accessTokenId(this.token));
  }

  /** The hash of a well-formed credential of a daemon; undefined for any other token. */
  get credentialHash(): string | undefined {
    if (this.#hash === undefined && this.token !== undefined && isCredential(this.token)) {
      this.#hash = tokenHash(this.token);
    }
    return this.#hash;
  }

  /** Tells whether the token has this hash: in constant time until it first does, and from memory after that. */
  matches(stored: string): boolean {
    if (this.token === undefined) return false;
    if (this.#matched === stored) return true;
    if (!isSame(stored, tokenHash(this.token))) return false;
    this.#matched = stored;
    return true;
  }
}

/** Both are hashes of one length. */
function isSame(stored: string, given: string): boolean {
  const [a, b] = [Buffer.from(stored), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const NO_BEARER = new Bearer([]);

interface CachedBearer {
  readonly field: string;
  readonly bearer: Bearer;
}
/** A client sends the same field with each request of its connection: shape, checksum and hash are computed once. */
const lastBearers = new WeakMap<Socket, CachedBearer>();

/** The bearer token of a request. It is parsed once for each connection and field. */
export function bearerOf(request: IncomingMessage): Bearer {
  const fields = fieldsOf(request, 'authorization');
  const [field] = fields;
  if (field === undefined || fields.length > 1) return NO_BEARER;
  const last = lastBearers.get(request.socket);
  if (last?.field === field) return last.bearer;
  const bearer = new Bearer(fields);
  lastBearers.set(request.socket, { field, bearer });
  return bearer;
}

/** Every field of that name in order; of some fields node itself keeps only the first. The name is in lower case. */
export function fieldsOf(request: IncomingMessage, name: string): string[] {
  const { rawHeaders } = request;
  const fields: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const field = rawHeaders[i];
    if (field?.length === name.length && field.toLowerCase() === name) fields.push(rawHeaders[i + 1] ?? '');
  }
  return fields;
}

/**
 * H19: reads the Idempotency-Key: 1 to 255 printable ASCII characters, in one field.
 * @param taken how the operation treats a malformed one; undefined where it takes none, and then there is none
 * @throws Refusal
 */
export function idempotencyKeyOf(
  request: IncomingMessage,
  taken: { readonly malformed: RefusalCode | 'ignored' } | undefined,
): string | undefined {
  const fields = taken ? fieldsOf(request, 'idempotency-key') : [];
  const [key] = fields;
  if (!taken || key === undefined) return undefined;
  if (fields.length === 1 && /^[\x20-\x7e]{1,255}$/.test(key)) return key;
  if (taken.malformed === 'ignored') return undefined;
  throw new Refusal(taken.malformed, 'Idempotency-Key must be 1 to 255 printable ASCII characters.');
}

/** H19: marks a response that repeats an earlier one. */
export const REPLAYED: readonly string[] = ['Idempotency-Replayed', 'true'];

/** The parameters in the query of a request, as they are. */
export const parametersOf = ({ url = '' }: Pick<IncomingMessage, 'url'>): URLSearchParams =>
  new URLSearchParams(url.split('?')[1] ?? '');

/**
 * The query of a request as its operation declares it; empty where it declares none.
 * @throws Refusal `invalid_request` for a parameter that its schema refuses, and for one that is there more than once,
 *   of which no one counts more than the others
 */
export function queryOf(request: Pick<IncomingMessage, 'url'>, declared: ZodObject | undefined): output<ZodObject> {
  if (!declared) return {};
  const parameters = parametersOf(request);
  const repeated = Object.keys(declared.shape).find((name) => parameters.getAll(name).length > 1);
  if (repeated !== undefined) throw new Refusal('invalid_request', `${repeated}: it is there more than once.`);
  const judged = declared.safeParse(Object.fromEntries(parameters), { error: wordsOfIssue });
  if (judged.success) return judged.data;
  const [fault] = judged.error.issues;
  throw new Refusal('invalid_request', `${String(fault?.path[0])}: ${fault?.message}`);
}
