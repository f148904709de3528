import { isAttended } from './attention.ts';

/* Requests to `/panel/v1`, and their failures as errors that pages show. */

/** The service answered with an error. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** Tells the error apart, such as `forbidden`; see docs/API.md. */
  readonly code: string;
  /** By which the operators of the service find the request in its log. */
  readonly requestId: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(response: Response, code: string, message: string) {
    super(message);
    this.status = response.status;
    this.code = code;
    this.requestId = response.headers.get('x-request-id') ?? '';
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(seconds) ? seconds : undefined;
  }
}

/** No answer came: the service or the network is away. Whether a change happened is unknown. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

export interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: object;
  /** Undefined values are left out. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** The same key for every attempt of one create, so that a lost answer makes no second one. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

const ROOT = '/panel/v1';

/** Called when the session has ended: whoever shows pages goes to the sign-in page. */
let ended: () => void = () => undefined;
export function whenSessionEnds(listener: () => void): void {
  ended = listener;
}

/**
 * Sends one request. A session that was given another token meanwhile, in another tab, is asked for once.
 * @throws ApiError; Unreachable; the signal's reason
 */
export async function ask<T>(path: string, asked: Asked = {}): Promise<T> {
  let response = await sent(path, asked);
  if (response.status === 401 && isSignedInPath(path)) {
    const again = path === '/me' || (await sent('/me', {})).ok;
    if (again) response = await sent(path, asked);
    if (response.status === 401) ended();
  }
  if (response.status === 204) return undefined as T;
  const body = await bodyOf(response);
  if (response.ok) return body as T;
  const { error } = (body ?? {}) as { error?: { code?: string; message?: string } };
  throw new ApiError(response, error?.code ?? 'unknown', error?.message ?? `The service answered ${response.status}.`);
}

/** The paths on which a 401 tells of the session, and not of what was typed. */
const isSignedInPath = (path: string): boolean =>
  !path.startsWith('/sign-in') && !path.startsWith('/links') && path !== '/me/password';

async function sent(path: string, asked: Asked): Promise<Response> {
  const { method = 'GET', body, query, idempotencyKey, signal } = asked;
  try {
    return await fetch(addressOf(path, query), {
      method,
      credentials: 'same-origin',
      redirect: 'error',
      cache: 'no-store',
      ...(signal && { signal }),
      headers: {
        ...(method !== 'GET' && method !== 'DELETE' && { 'Content-Type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
        // A page that is left open must not keep its session from becoming idle.
        ...(!isAttended() && { 'Muster-Unattended': '?1' }),
      },
      ...(method !== 'GET' && method !== 'DELETE' && { body: JSON.stringify(body ?? {}) }),
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw new Unreachable('The service cannot be reached.', { cause: error });
  }
}

/** The address of an operation, for a request or a download. */
export function addressOf(path: string, query: Asked['query'] = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  const text = parameters.toString();
  return text === '' ? `${ROOT}${path}` : `${ROOT}${path}?${text}`;
}

async function bodyOf(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    if (response.ok) throw new Unreachable('The answer of the service was cut off.', { cause: error });
    return undefined;
  }
}

/** A key for one create. */
export const newIdempotencyKey = (): string => crypto.randomUUID();
