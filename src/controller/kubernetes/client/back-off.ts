import { isKubeError } from './kube-api.ts';

/**
 * The pause in milliseconds after so many failures in a row: it doubles, and half of it is random, so that clients that
 * failed together do not come back together. It is never shorter than the server asked for (`Retry-After`).
 * @param random gives numbers from 0 to 1
 */
export function backOffMs(
  failures: number,
  { firstMs, maxMs }: { firstMs: number; maxMs: number },
  random: () => number,
  error?: unknown,
): number {
  const whole = Math.min(firstMs * 2 ** Math.min(failures - 1, 20), maxMs);
  const pause = whole / 2 + (whole / 2) * random();
  const asked = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
  // Clients that were refused together come back spread over a second.
  return asked > pause ? asked + 1000 * random() : pause;
}
