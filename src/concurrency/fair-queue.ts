/**
 * Runs work one piece after the other, in turn between those whom it is for: who brings much waits behind himself, and
 * another one behind one piece of each.
 */
export class FairQueue {
  readonly #waitingMax: number;
  /** The work of each that has some, in the order of their turns. */
  readonly #waiting = new Map<string, (() => Promise<void>)[]>();
  #running = false;

  /** @param waitingMax the work that waits for one of them; further work is refused */
  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  /** @returns the outcome of the work; undefined where the bound is reached, and then it is not begun */
  tryRun<T>(owner: string, work: () => Promise<T>): Promise<T> | undefined {
    const own = this.#waiting.get(owner) ?? [];
    if (own.length >= this.#waitingMax) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    own.push(async () => {
      try {
        resolve(await work());
      } catch (error) {
        reject(error);
      }
    });
    this.#waiting.set(owner, own);
    if (!this.#running) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#running = true;
    // An owner that is set again comes last, and the loop meets it there.
    for (const [owner, own] of this.#waiting) {
      const next = own.shift();
      this.#waiting.delete(owner);
      if (own.length > 0) this.#waiting.set(owner, own);
      await next?.();
    }
    this.#running = false;
  }
}
