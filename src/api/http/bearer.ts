import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { apiKeyId, bearerToken, isCredential, tokenHash } from '../../domain/credentials/tokens.ts';
import { fieldsOf } from './exchange.ts';

/**
 * What a request's Authorization field says. It says nothing of whether that holds: whose it is, and whether it works
 * now, is asked of the fleet by each request (A12).
 */
export class Bearer {
  /** Undefined where there is no field, more than one, or one that is none (H16). */
  readonly token: string | undefined;
  #hash: string | undefined;
  #keyId: string | undefined;
  #matched: string | undefined;

  constructor(fields: readonly string[]) {
    this.token = bearerToken(fields);
  }

  /** Of a well-formed API key. */
  get keyId(): string | undefined {
    return (this.#keyId ??= this.token === undefined ? undefined : apiKeyId(this.token));
  }

  /** Of a well-formed credential of a daemon. */
  get credentialHash(): string | undefined {
    if (this.#hash === undefined && this.token !== undefined && isCredential(this.token)) {
      this.#hash = tokenHash(this.token);
    }
    return this.#hash;
  }

  /** Whether the token has this hash; in constant time, until it once had. */
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
/** A client keeps its connection and says the same on it: shape, checksum and hash are found out once. */
const lastBearers = new WeakMap<Socket, CachedBearer>();

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
