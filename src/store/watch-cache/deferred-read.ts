/**
 * Callers who can wait: they get the answer of a read that somebody else asks for, and that begins after they came. They
 * ask for one themselves only when none has begun for a while, or when too many of them wait.
 */
export class Passengers<T> {
  readonly #patienceMs: number;
  readonly #max: number;
  #waiting: { readonly asked: PromiseWithResolvers<T>; readonly timer: NodeJS.Timeout; count: number } | undefined;

  constructor(patienceMs: number, max: number) {
    this.#patienceMs = patienceMs;
    this.#max = max;
  }

  /** @param ask begins a read, or lets one follow the one that is under way; each of them comes here by `ride` */
  wait(ask: () => Promise<T>): Promise<T> {
    // What becomes of a read that was asked for here, those who wait are told by it.
    const askNow = (): void => void ask().catch(() => undefined);
    this.#waiting ??= { asked: Promise.withResolvers<T>(), timer: setTimeout(askNow, this.#patienceMs), count: 0 };
    const { asked } = this.#waiting;
    this.#waiting.count += 1;
    if (this.#waiting.count === this.#max) askNow();
    return asked.promise;
  }

  /** Takes those who wait along on a read that begins now. */
  ride(read: Promise<T>): Promise<T> {
    const waiting = this.#waiting;
    if (!waiting) return read;
    this.#waiting = undefined;
    clearTimeout(waiting.timer);
    read.then(waiting.asked.resolve, waiting.asked.reject);
    return read;
  }
}
