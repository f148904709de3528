import { MusterError } from './errors.ts';

/*
 * When a request is sent again. It was refused without effect, or nobody knows whether it was carried out; the second
 * kind is sent again only where that does no harm.
 */

type Verdict = 'final' | 'refused' | 'unknown';

/** What is known of a request that ended with this error. */
export function verdictOn({ code, status }: MusterError): Verdict {
  if (status === 0) return code === 'network' || code === 'timeout' ? 'unknown' : 'final';
  if (status === 429 || (status === 503 && code === 'overloaded')) return 'refused';
  return status === 502 || status === 503 || status === 504 ? 'unknown' : 'final';
}

/** Whether a request that ended with this error may have been carried out. */
export function mayBeCarriedOut(error: MusterError): boolean {
  const { code, status } = error;
  if (status === 0) return code === 'aborted' || verdictOn(error) === 'unknown';
  return status < 300 || (status >= 500 && verdictOn(error) !== 'refused');
}

const BACKOFF_MS_MIN = 200;
const BACKOFF_MS_MAX = 10_000;
/** What is added to a Retry-After at most, so that those who were refused together do not return together. */
const SPREAD_MS_MAX = 2000;

/**
 * Milliseconds until the next attempt: never before the Retry-After, and with full jitter and back-off in any case.
 * @param attempt that failed; the first is 1
 */
export function waitAfter({ retryAfterSeconds }: MusterError, attempt: number, random: () => number): number {
  const backoff = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(attempt - 1, 30)) * random();
  if (retryAfterSeconds === undefined) return backoff;
  const asked = retryAfterSeconds * 1000;
  return Math.max(backoff, asked + Math.min(SPREAD_MS_MAX, asked / 4) * random());
}

/** The time of a call is up; the last trouble is in its words, and is its cause. */
export function outOfTime(timeoutMs: number, attempts: number, last: MusterError): MusterError {
  const { code, status, requestId, idempotencyKey, retryAfterSeconds } = last;
  const what = status === 0 ? code : `${status} ${code}`;
  const tries = attempts === 1 ? 'one attempt' : `${attempts} attempts`;
  const words = `The call did not succeed within ${Math.round(timeoutMs)} ms (${tries}). Last trouble: ${what}: ${last.message}`;
  return new MusterError(words, {
    code: 'timeout',
    status,
    requestId,
    idempotencyKey,
    retryAfterSeconds,
    cause: last,
  });
}
