import type { IncomingMessage } from 'node:http';

/** The bounds of a listener's requests in flight. */
export interface AdmissionOptions {
  /** The most requests in flight, parked ones not counted. */
  readonly concurrencyMax: number;
  /** How many requests in flight only wait and cost nothing meanwhile: held polls, which have a bound of their own. */
  readonly parked?: () => number;
  /** Vital requests are not rejected with the others: they have as many slots again, of their own. */
  readonly isVital?: (request: IncomingMessage) => boolean;
}

/** The kind of a slot, to be given back as it was taken. */
export type Slot = 'ordinary' | 'vital';

/** The slots of a listener for requests in flight. */
export class AdmissionSlots {
  readonly #options: AdmissionOptions;
  readonly #taken: Record<Slot, number> = { ordinary: 0, vital: 0 };

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  get taken(): number {
    return this.#taken.ordinary + this.#taken.vital;
  }

  /**
   * Takes a slot for a request; the caller returns it by `leave`.
   * @returns undefined where none is free: the request is to be rejected
   */
  take(request: IncomingMessage): Slot | undefined {
    const { concurrencyMax, parked, isVital } = this.#options;
    const slot: Slot = isVital?.(request) === true ? 'vital' : 'ordinary';
    const working = this.#taken[slot] - (slot === 'ordinary' ? (parked?.() ?? 0) : 0);
    if (working >= concurrencyMax) return undefined;
    this.#taken[slot] += 1;
    return slot;
  }

  leave(slot: Slot): void {
    this.#taken[slot] -= 1;
  }
}
