import { serialExecutor, type SerialExecutor } from './serial.ts';

interface Queue {
  readonly run: SerialExecutor;
  waiting: number;
}

/** Runs the work of one key one after the other; that of different keys does not wait for each other. */
export class SerialByKey {
  readonly #waitingMax: number;
  readonly #queues = new Map<string, Queue>();

  /** @param waitingMax the work of one key that waits or runs; further work is refused */
  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  /** @returns the outcome of the work; undefined where the bound is reached, and then it is not begun */
  tryRun<T>(key: string, work: () => Promise<T>): Promise<T> | undefined {
    let queue = this.#queues.get(key);
    if (!queue) this.#queues.set(key, (queue = { run: serialExecutor(), waiting: 0 }));
    if (queue.waiting >= this.#waitingMax) return undefined;
    queue.waiting += 1;
    return this.#run(key, queue, work);
  }

  async #run<T>(key: string, queue: Queue, work: () => Promise<T>): Promise<T> {
    try {
      return await queue.run(work);
    } finally {
      queue.waiting -= 1;
      if (queue.waiting === 0) this.#queues.delete(key);
    }
  }
}
