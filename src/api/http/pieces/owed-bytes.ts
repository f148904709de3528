import type { ServerResponse } from 'node:http';

/** The debt of one answer to its client. */
interface Debt {
  bytes: number;
}

/**
 * The bytes of answers that connections without a credential have not taken, over all listeners of a process. Above the
 * bound the answer goes whose client has taken nothing for the longest time: strangers who do not read cost no more
 * memory than this, and whoever reads is not felt.
 */
export class OwedBytes {
  readonly #max: number;
  /** The one that moved last comes last. */
  readonly #debts = new Map<ServerResponse, Debt>();
  #sum = 0;

  /** @param max bytes, all in all */
  constructor(max: number) {
    this.#max = max;
  }

  /** The bytes that are owed now. */
  get sum(): number {
    return this.#sum;
  }

  /**
   * The client of an answer is given so many bytes, and has taken what it was given before. The answer owes nothing any more
   * once it is closed.
   */
  owe(response: ServerResponse, bytes: number): void {
    const debt = this.#debts.get(response) ?? this.#begun(response);
    this.#debts.delete(response);
    this.#debts.set(response, debt);
    this.#sum += bytes - debt.bytes;
    debt.bytes = bytes;
    for (const [oldest] of this.#debts) {
      if (this.#sum <= this.#max) return;
      this.#forget(oldest);
      oldest.destroy();
    }
  }

  #begun(response: ServerResponse): Debt {
    response.once('close', () => this.#forget(response));
    return { bytes: 0 };
  }

  #forget(response: ServerResponse): void {
    this.#sum -= this.#debts.get(response)?.bytes ?? 0;
    this.#debts.delete(response);
  }
}
