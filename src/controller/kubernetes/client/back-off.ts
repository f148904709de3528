import { isKubeError } from './kube-api.ts';

/**
 * The pause after so many failures in a row: doubles, half of it by chance, so that those who failed together do not
 * come again together. What the server asked for is waited for in any case.
 * @param random 0 to 1
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
  // Those who were sent away together come back spread over a second.
  return asked > pause ? asked + 1000 * random() : pause;
}
