import type { RawAnswer } from './attempt.ts';
import { MusterError } from './errors.ts';

const MESSAGE_CHARACTERS_MAX = 1000;
/** What is shorter is no secret of Muster's, and may be a part of any word. */
const SECRET_CHARACTERS_MIN = 8;
/** Statuses by which the service, or a proxy before it, says that it could not do its work now. */
const UNAVAILABLE: ReadonlySet<number> = new Set([502, 503, 504]);

/** An answer with what an error about it tells. */
export interface Answer extends RawAnswer {
  /** The id under which the service logs the request. */
  readonly requestId: string;
  /** The key that the request bore. */
  readonly idempotencyKey?: string | undefined;
}

export const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * The id that an answer names. Anybody may answer, and write what was sent there: what is no id is not taken.
 * @param sent the id that the request bore @param secret never stands in it
 */
export function requestIdOf(headers: Headers, sent: string, secret: string): string {
  const told = headers.get('x-request-id') ?? '';
  return REQUEST_ID.test(told) && (secret === '' || !told.includes(secret)) ? told : sent;
}

/** The error that an answer stands for; undefined where the request succeeded. @param secret is left out of it */
export function errorOf({ status, headers, text, requestId }: Answer, secret: string): MusterError | undefined {
  if ((status >= 200 && status < 300) || status === 304) return undefined;
  const told = errorBodyOf(text);
  const code = told?.code ?? (UNAVAILABLE.has(status) ? 'upstream_unavailable' : 'bad_answer');
  const message = told?.message ?? `The answer is ${status}, and not one of Muster's.`;
  return new MusterError(without(secret, message), {
    code,
    status,
    requestId,
    retryAfterSeconds: retryAfterOf(headers),
  });
}

/** What the service says in its error body; undefined where a stranger answered. */
function errorBodyOf(text: string): { readonly code: string; readonly message: string } | undefined {
  const { error } = (objectOf(text) ?? {}) as { error?: { code?: unknown; message?: unknown } | null };
  const { code, message } = error ?? {};
  if (typeof code !== 'string' || typeof message !== 'string' || !/^[a-z_]{1,64}$/.test(code)) return undefined;
  return { code, message };
}

/** Whoever answers may repeat what was sent, and be of any length. */
function without(secret: string, message: string): string {
  const clean = secret.length < SECRET_CHARACTERS_MIN ? message : message.replaceAll(secret, '…');
  return clean.slice(0, MESSAGE_CHARACTERS_MAX).replaceAll(/\p{Cc}/gu, ' ');
}

/** As RFC 9110 has it, section 5.6.7; the two obsolete forms are not read. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RETRY_AFTER_SECONDS_MAX = 86_400;

/** Seconds, a day at most; undefined where the field is missing or broken. A date is reckoned from the answer's own. */
export function retryAfterOf(headers: Headers): number | undefined {
  const field = headers.get('retry-after') ?? '';
  const seconds = /^\d{1,15}$/.test(field) ? Number(field) : secondsUntil(field, headers.get('date') ?? '');
  return seconds === undefined ? undefined : Math.min(Math.max(0, seconds), RETRY_AFTER_SECONDS_MAX);
}

/** @param now as the sender's clock shows it; without it this machine's counts */
function secondsUntil(date: string, now: string): number | undefined {
  const [at, from] = [date, now].map((text) => (HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN));
  if (at === undefined || from === undefined || Number.isNaN(at)) return undefined;
  return Math.ceil((at - (Number.isNaN(from) ? Date.now() : from)) / 1000);
}

/**
 * The JSON object of an answer.
 * @param field every such answer has it: a stranger may answer with any object
 * @throws MusterError `bad_answer`
 */
export async function jsonOf<T extends object>(answer: Answer | Promise<Answer>, field: keyof T & string): Promise<T> {
  const known = await answer;
  const body = objectOf(known.text);
  // Whoever answered says that it was done.
  if (!body) throw badAnswer('The answer is no JSON object.', known, { mayBeDone: true });
  if (field in body) return body as T;
  throw badAnswer(`The answer has no ${field}, and is not one of Muster's.`, known, { mayBeDone: true });
}

/** As `jsonOf`, of an answer whose field is a list of objects. @throws MusterError `bad_answer` */
export async function listOf<T extends object>(answer: Answer | Promise<Answer>, field: keyof T & string): Promise<T> {
  const known = await answer;
  const body = await jsonOf<T>(known, field);
  const list: unknown = body[field];
  if (Array.isArray(list) && list.every((item) => typeof item === 'object' && item !== null)) return body;
  throw badAnswer(`The ${field} of the answer are no list, and not Muster's.`, known, { mayBeDone: true });
}

/**
 * Holds that a request was carried out whose answer has nothing to tell.
 * @throws MusterError `bad_answer`, as of a page
 */
export async function doneOf(answer: Promise<Answer>): Promise<void> {
  const known = await answer;
  if (known.status !== 204) throw badAnswer("The answer is not one of Muster's.", known, { mayBeDone: true });
}

const TAG = /^(?:W\/)?"[\x21\x23-\x7e]{0,250}"$/;

/** The tag of an answer; undefined where a proxy has dropped it, or there is none that may be sent back. */
export function tagOf(headers: Headers): string | undefined {
  const tag = headers.get('etag') ?? '';
  return TAG.test(tag) ? tag : undefined;
}

/** An answer that is not as the document says. */
export const badAnswer = (
  words: string,
  { status, requestId, idempotencyKey }: Answer,
  { mayBeDone = false } = {},
): MusterError => new MusterError(words, { code: 'bad_answer', status, requestId, idempotencyKey, mayBeDone });

function objectOf(text: string): object | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

/** The body of any answer: parsed where it says that it is JSON, else the text; undefined where there is none. */
export function anyBodyOf({ headers, text }: RawAnswer): unknown {
  if (text === '') return undefined;
  if (!/\bjson\b/i.test(headers.get('content-type') ?? '')) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
