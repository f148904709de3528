import { RecentMap } from '../../src/packed/recent-map.ts';
import { isAttended } from './attention.ts';
import { noteReached } from './reachable.ts';
import type { AnswerTo, AskedRoute, Asking, Route } from './operations.ts';

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

type Query = Readonly<Record<string, string | number | undefined>>;

/** What `Asked` says of any operation. */
interface AnyAsked {
  readonly body?: object;
  readonly query?: Query;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

const ROOT = '/panel/v1';
const TOKEN_ON_ITS_WAY_MS = 300;

/**
 * The name of a lock over the tabs. What may give the browser another token holds it in part while it is under way, and
 * whoever was refused waits for it. A browser has locks where the connection is secure, or to itself.
 */
const CHANGES = 'muster-changes';
const withChanges = async <T>(mode: LockMode, work: () => Promise<T>): Promise<T> =>
  'locks' in navigator ? await navigator.locks.request(CHANGES, { mode }, work) : await work();

/** Called when the session has ended: whoever shows pages goes to the sign-in page. */
let ended: () => void = () => undefined;
export function whenSessionEnds(listener: () => void): void {
  ended = listener;
}

/** Asks the person to prove who they are; false where they do not. */
let prove: () => Promise<boolean> = () => Promise.resolve(false);
/** The proof that is asked for now: every request that needs one waits for the same. */
let proving: Promise<boolean> | undefined;
export function whenProofIsNeeded(ask: () => Promise<boolean>): void {
  prove = ask;
}

async function proved(): Promise<boolean> {
  proving ??= prove().finally(() => (proving = undefined));
  return await proving;
}

/**
 * Sends one request. A session that was given another token meanwhile, such as in another tab, is asked for once. Where
 * the service wants a proof of the person, they are asked for it, and the request is sent again.
 * @throws ApiError; Unreachable; the signal's reason
 */
export async function ask<One extends AskedRoute>(route: One, ...[said]: Asking<One>): Promise<AnswerTo<One>> {
  const asked: AnyAsked = said ?? {};
  let answer = await answered(route, asked);
  if (answer.code === 'invalid_session') {
    // A proof, and a change of the ways in, give the browser another token, which may be on its way here or to another
    // tab.
    await proving;
    await withChanges('exclusive', () => Promise.resolve());
    await new Promise((resolve) => setTimeout(resolve, TOKEN_ON_ITS_WAY_MS));
    // A change is sent once more where a read has shown that the session goes on. A read that could not be answered,
    // as by a service that is overloaded, does not show that it has ended.
    const first = route === 'GET /me' ? undefined : await answered('GET /me', {});
    if (first && !first.response.ok) answer = first;
    else answer = await answered(route, asked);
    if (answer.code === 'invalid_session') ended();
  }
  if (answer.code === 'proof_required' && (await proved())) answer = await answered(route, asked);
  const { response, body, code, message } = answer;
  if (code === '') return body as AnswerTo<One>;
  throw new ApiError(response, code, message);
}

interface Answered {
  readonly response: Response;
  /** Undefined without one. */
  readonly body: unknown;
  /** The code of an error; empty where there is none. */
  readonly code: string;
  readonly message: string;
}

/** An answer that a page has read, with the tag by which the service knows it again. */
interface Kept {
  readonly tag: string;
  readonly body: unknown;
}

/** The answers that were read last, by their addresses, for as long as the page is open: no browser stores one. */
const kept = new RecentMap<string, Kept>(20);

/** Tells whether the answer may give the browser another token: a change, or the read that renews an older session. */
const mayRenew = (route: Route): boolean => !route.startsWith('GET ') || route === 'GET /me';

async function answered(route: Route, asked: AnyAsked): Promise<Answered> {
  const target = targetOf(route, asked);
  const known = route.startsWith('GET ') ? kept.get(target) : undefined;
  const send = (): Promise<Response> => sent(route, target, asked, known?.tag);
  const response = mayRenew(route) ? await withChanges('shared', send) : await send();
  if (response.status === 304 && known) {
    kept.set(target, known);
    return { response, body: known.body, code: '', message: '' };
  }
  const body = response.status === 204 ? undefined : await bodyOf(response);
  if (response.ok) {
    const tag = response.headers.get('etag');
    if (tag !== null) kept.set(target, { tag, body });
    return { response, body, code: '', message: '' };
  }
  const { error } = (body ?? {}) as { error?: { code?: string; message?: string } };
  const message = error?.message ?? `The service answered ${response.status}.`;
  return { response, body, code: error?.code ?? 'unknown', message };
}

async function sent(route: Route, target: string, asked: AnyAsked, tag: string | undefined): Promise<Response> {
  const { body, idempotencyKey, signal } = asked;
  const [method] = route.split(' ', 1);
  try {
    const response = await fetch(target, {
      ...(method !== undefined && { method }),
      credentials: 'same-origin',
      redirect: 'error',
      cache: 'no-store',
      ...(signal && { signal }),
      headers: {
        ...(method !== 'GET' && method !== 'DELETE' && { 'Content-Type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
        ...(tag !== undefined && { 'If-None-Match': tag }),
        // A page that is left open must not keep its session from becoming idle.
        ...(!isAttended() && { 'Muster-Unattended': '?1' }),
      },
      ...(method !== 'GET' && method !== 'DELETE' && { body: JSON.stringify(body ?? {}) }),
    });
    noteReached(true);
    return response;
  } catch (error) {
    signal?.throwIfAborted();
    noteReached(false);
    throw new Unreachable('The service cannot be reached.', { cause: error });
  }
}

/** The address of an operation, for a download, a stream or another page. */
export const addressOf = <One extends Route & `GET ${string}`>(route: One, ...[said]: Asking<One>): string =>
  targetOf(route, said ?? {});

function targetOf(route: Route, asked: AnyAsked): string {
  const named: Readonly<Record<string, unknown>> = { ...asked };
  const path = route.slice(route.indexOf('/')).replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = named[name];
    if (typeof value !== 'string' || value === '') throw new RangeError(`${route} was asked for without ${name}.`);
    return encodeURIComponent(value);
  });
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(asked.query ?? {})) {
    if (value !== undefined) parameters.set(name, String(value));
  }
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
