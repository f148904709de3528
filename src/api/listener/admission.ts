import type { IncomingMessage } from 'node:http';

/**
 * The pools of slots: requests in one take none from another. `unbounded` is for requests whose handler has a bound of
 * its own, since a body comes before they can authenticate: a slot would be held by whoever sends it slowly.
 */
export type Pool = 'ordinary' | 'probes' | 'metrics' | 'unbounded';

/** The bounds of a listener's requests in flight. */
export interface AdmissionOptions {
  /** The most requests in flight in each pool, parked ones not counted. */
  readonly concurrencyMax: number;
  /** How many requests in flight only wait and cost nothing meanwhile: held polls, which have a bound of their own. */
  readonly parked?: () => number;
  /** The pool of a request; `ordinary` without this. */
  readonly poolOf?: (request: IncomingMessage) => Pool;
}

/** The slots of a listener for requests in flight. */
export class AdmissionSlots {
  readonly #options: AdmissionOptions;
  readonly #taken: Record<Pool, number> = { ordinary: 0, probes: 0, metrics: 0, unbounded: 0 };

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  get taken(): number {
    const { ordinary, probes, metrics, unbounded } = this.#taken;
    return ordinary + probes + metrics + unbounded;
  }

  /**
   * Takes a slot for a request; the caller returns it by `leave`.
   * @returns undefined where none is free: the request is to be rejected
   */
  take(request: IncomingMessage): Pool | undefined {
    const { concurrencyMax, parked, poolOf } = this.#options;
    const pool = poolOf?.(request) ?? 'ordinary';
    const working = this.#taken[pool] - (pool === 'ordinary' ? (parked?.() ?? 0) : 0);
    if (working >= concurrencyMax && pool !== 'unbounded') return undefined;
    this.#taken[pool] += 1;
    return pool;
  }

  leave(pool: Pool): void {
    this.#taken[pool] -= 1;
  }
}
