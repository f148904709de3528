import type { Store } from '../../../src/store/port.ts';
import { wrappedStore } from './wrapped-store.ts';

/** Does one thing just after a chosen read of the store, while whoever read it still waits for the answer. */
export class DuringReads {
  #left = 0;
  #act: (() => Promise<unknown>) | undefined;

  /** @param read the number of the read, 1 for the next one; what the act itself reads is not counted */
  at(read: number, act: () => Promise<unknown>): void {
    this.#left = read;
    this.#act = act;
  }

  /** Whether there were so many reads. @returns false where the act was not done, which it then never is */
  end(): boolean {
    const isDone = this.#act === undefined;
    this.#act = undefined;
    return isDone;
  }

  readonly wrapStore = (store: Store): Store =>
    wrappedStore(store, {
      get: async (key) => {
        const entry = await store.get(key);
        await this.#read();
        return entry;
      },
      list: async (request) => {
        const page = await store.list(request);
        await this.#read();
        return page;
      },
    });

  async #read(): Promise<void> {
    const act = this.#act;
    if (!act) return;
    this.#left -= 1;
    if (this.#left > 0) return;
    this.#act = undefined;
    await act();
  }
}
