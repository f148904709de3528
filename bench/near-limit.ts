import type { NextShot, Shot } from './load.ts';

const SHARE = 0.9;
const REQUESTS_PER_MS = 600 / 60_000;
const EVERY_MS = 1 / (SHARE * REQUESTS_PER_MS);
/** After so long a load all accounts have what they will have in their windows. */
export const NEAR_LIMIT_MS = 62_000;

/**
 * Keeps accounts at 90 % of their rate, as many of them as the load allows: it begins anew with the first account as
 * soon as that one may be asked again. After a minute the windows of all of them but the last are as full as that.
 */
export class NearLimit {
  readonly #shots: readonly Shot[];
  #begunAt = Number.NEGATIVE_INFINITY;
  #turn = 0;

  constructor(shots: readonly Shot[]) {
    this.#shots = shots;
  }

  readonly next: NextShot = () => {
    const now = performance.now();
    if (now - this.#begunAt >= EVERY_MS) {
      this.#begunAt = now;
      this.#turn = 0;
    }
    const shot = this.#shots[this.#turn];
    if (!shot) throw new Error('there are too few accounts for this rate');
    this.#turn += 1;
    return shot;
  };
}
