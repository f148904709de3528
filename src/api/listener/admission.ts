import type { IncomingMessage } from 'node:http';
import type { BodyWait } from '../http/exchange-events.ts';

/**
 * The pools of slots: requests in one take none from another. `unbounded` is for requests that wait for their bodies,
 * since a slot would be held by whoever sends one slowly, and for those whose handler has a bound of its own.
 */
export type Pool = 'ordinary' | 'probes' | 'unbounded';

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
  readonly #taken: Record<Pool, number> = { ordinary: 0, probes: 0, unbounded: 0 };

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  get taken(): number {
    const { ordinary, probes, unbounded } = this.#taken;
    return ordinary + probes + unbounded;
  }

  /** @returns undefined where none is free: the request is to be rejected */
  take(request: IncomingMessage): Slot | undefined {
    const pool = this.#options.poolOf?.(request) ?? 'ordinary';
    return this.isFull(pool) ? undefined : new Slot(this, pool);
  }

  isFull(pool: Pool): boolean {
    const { concurrencyMax, parked } = this.#options;
    const working = this.#taken[pool] - (pool === 'ordinary' ? (parked?.() ?? 0) : 0);
    return pool !== 'unbounded' && working >= concurrencyMax;
  }

  /** Called by a slot. */
  count(pool: Pool, requests: 1 | -1): void {
    this.#taken[pool] += requests;
  }
}

/** The slot of one request. */
export class Slot {
  readonly pool: Pool;
  readonly #slots: AdmissionSlots;
  /** The pool in which it counts now. */
  #counted: Pool | undefined;

  constructor(slots: AdmissionSlots, pool: Pool) {
    this.#slots = slots;
    this.pool = pool;
    this.#countIn(pool);
  }

  /**
   * The request waits for its body: it is in flight, and others may have the slot. Where none is free when the body is
   * there, the request's own answer says so, and is counted.
   */
  lend(wait: BodyWait): void {
    if (this.#counted === undefined) return;
    this.#countIn('unbounded');
    wait.takeSlot = () => {
      if (this.#counted === undefined) return false;
      const isFree = !this.#slots.isFull(this.pool);
      if (isFree) this.#countIn(this.pool);
      return isFree;
    };
  }

  /** The request has ended. @returns false where it had ended before */
  leave(): boolean {
    const hadEnded = this.#counted === undefined;
    this.#countIn(undefined);
    return !hadEnded;
  }

  #countIn(pool: Pool | undefined): void {
    if (this.#counted !== undefined) this.#slots.count(this.#counted, -1);
    this.#counted = pool;
    if (pool !== undefined) this.#slots.count(pool, 1);
  }
}
