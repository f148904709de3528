/**
 * Reads that may come later: a caller that can wait gets the answer of the next read that another caller begins. A
 * deferred read begins a read of its own only when no other has begun for `patienceMs`, or when `max` callers wait.
 * Retries with a rejected credential are paced by it (domain/devices/recently-rejected.ts, with the measurement).
 */
export class DeferredReads<T> {
  readonly #patienceMs: number;
  readonly #max: number;
  #waiting: { readonly answer: PromiseWithResolvers<T>; readonly timer: NodeJS.Timeout; count: number } | undefined;

  constructor(patienceMs: number, max: number) {
    this.#patienceMs = patienceMs;
    this.#max = max;
  }

  /**
   * Waits for a read that begins after this call. Rejects with the error of that read.
   * @param begin begins a read, or lets one follow the one that is under way; each of them is passed to `join`
   */
  wait(begin: () => Promise<T>): Promise<T> {
    // The callers that wait are told of the outcome by `join`, a failure included.
    const beginNow = (): void => void begin().catch(() => undefined);
    this.#waiting ??= { answer: Promise.withResolvers<T>(), timer: setTimeout(beginNow, this.#patienceMs), count: 0 };
    const { answer } = this.#waiting;
    this.#waiting.count += 1;
    if (this.#waiting.count === this.#max) beginNow();
    return answer.promise;
  }

  /** Lets a read that begins now answer the deferred reads as well. @returns the same read */
  join(read: Promise<T>): Promise<T> {
    const waiting = this.#waiting;
    if (!waiting) return read;
    this.#waiting = undefined;
    clearTimeout(waiting.timer);
    read.then(waiting.answer.resolve, waiting.answer.reject);
    return read;
  }
}
