import type { Store } from '../../../src/store/port.ts';
import { wrappedStore } from './wrapped-store.ts';

/** Does one thing just before the next commit that writes a record of a kind, as a race that is lost for certain. */
export class BeforeCommit {
  readonly #prefix: string;
  #act: (() => Promise<unknown>) | undefined;

  /** @param prefix of a key that the commit writes */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** What is done, once; what it writes itself is not waited for. */
  set next(act: () => Promise<unknown>) {
    this.#act = act;
  }

  /** Whether it has been done. */
  get isDone(): boolean {
    return this.#act === undefined;
  }

  readonly wrapStore = (store: Store): Store =>
    wrappedStore(store, {
      commit: async (change) => {
        const act = this.#act;
        if (act && change.write.some((write) => 'put' in write && write.put.startsWith(this.#prefix))) {
          this.#act = undefined;
          await act();
        }
        return await store.commit(change);
      },
    });
}
