/**
 * Work that comes in bursts. The queue runs it in the order in which it came, and at most `perTurnMax` pieces in one
 * turn of the event loop, so that other work (another listener, an answer of the store, a timer) runs in between,
 * however long the burst is. The queue has no bound of its own: its callers bound how much work there can be.
 */
export class TurnQueue {
  readonly #perTurnMax: number;
  #queue: (() => void)[] = [];
  #first = 0;
  #left: number;
  #isAsked = false;

  constructor(perTurnMax: number) {
    this.#perTurnMax = perTurnMax;
    this.#left = perTurnMax;
  }

  get waiting(): number {
    return this.#queue.length - this.#first;
  }

  /**
   * Runs the work now where this turn has room and nothing waits before it, else in a later turn. It must not throw.
   */
  do(work: () => void): void {
    this.#askForTurn();
    if (this.#left > 0 && this.waiting === 0) {
      this.#left -= 1;
      work();
    } else this.#queue.push(work);
  }

  /** Resolves when the caller may go on; undefined where it may now. */
  turn(): Promise<void> | undefined {
    if (this.#left === 0 || this.waiting > 0) return new Promise((resolve) => this.do(resolve));
    this.#askForTurn();
    this.#left -= 1;
    return undefined;
  }

  #askForTurn(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    // `setImmediate` runs after the sockets of the next turn: their work stands in the queue behind what waits already.
    setImmediate(() => this.#begin());
  }

  #begin(): void {
    this.#isAsked = false;
    this.#left = this.#perTurnMax;
    while (this.#left > 0 && this.waiting > 0) {
      const work = this.#queue[this.#first];
      this.#first += 1;
      this.#left -= 1;
      this.#askForTurn();
      work?.();
    }
    if (this.#first > this.#queue.length / 2) {
      this.#queue = this.#queue.slice(this.#first);
      this.#first = 0;
    }
  }
}
