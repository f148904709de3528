import type { IncomingMessage } from 'node:http';

export interface AdmissionOptions {
  /** Requests in flight, without those that are parked. */
  readonly concurrencyMax: number;
  /** How many requests in flight only wait and cost nothing meanwhile: held polls, which have a bound of their own. */
  readonly parked?: () => number;
  /** Requests that are not shed with the others: they have as many places again, of their own. */
  readonly isVital?: (request: IncomingMessage) => boolean;
}

export type Slot = 'ordinary' | 'vital';

/** The places of a listener for requests in flight. */
export class AdmissionSlots {
  readonly #options: AdmissionOptions;
  readonly #taken: Record<Slot, number> = { ordinary: 0, vital: 0 };

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  get taken(): number {
    return this.#taken.ordinary + this.#taken.vital;
  }

  /** @returns undefined where there is none left: the request is to be shed */
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
