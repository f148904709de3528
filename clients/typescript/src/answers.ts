import type { RawAnswer } from './attempt.ts';
import { MusterError } from './errors.ts';

const MESSAGE_CHARACTERS_MAX = 1000;
/** What is shorter is no secret of Muster's, and may be a part of any word. */
const SECRET_CHARACTERS_MIN = 8;
/** Statuses by which the service, or a proxy before it, says that it could not do its work now. */
const UNAVAILABLE: ReadonlySet<number> = new Set([502, 503, 504]);

/** The error that an answer stands for; undefined where the request succeeded. @param secret is left out of it */
export function errorOf(answer: RawAnswer, requestId: string, secret: string): MusterError | undefined {
  const { status, headers, text } = answer;
  if ((status >= 200 && status < 300) || status === 304) return undefined;
  const told = errorBodyOf(text);
  const code = told?.code ?? (UNAVAILABLE.has(status) ? 'upstream_unavailable' : 'bad_answer');
  const message = told?.message ?? `The answer is ${status}, and not one of Muster's.`;
  return new MusterError(without(secret, message), {
    code,
    status,
    requestId: headers.get('x-request-id') ?? requestId,
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

/** Seconds; undefined where the field is missing, or is a date. */
export function retryAfterOf(headers: Headers): number | undefined {
  const field = headers.get('retry-after');
  return field !== null && /^\d{1,7}$/.test(field) ? Number(field) : undefined;
}

/** The JSON object of an answer. @throws MusterError `bad_answer` */
export async function jsonOf<T extends object>(answer: RawAnswer | Promise<RawAnswer>): Promise<T> {
  const { status, headers, text } = await answer;
  const body = objectOf(text);
  if (body) return body as T;
  throw new MusterError('The answer is no JSON object.', {
    code: 'bad_answer',
    status,
    requestId: headers.get('x-request-id') ?? '',
    // Whoever answered says that it was.
    mayBeDone: true,
  });
}

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
