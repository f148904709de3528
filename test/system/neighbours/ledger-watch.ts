import { setTimeout as sleep } from 'node:timers/promises';
import type { Store, Watch, WatchBatch } from '../../../src/store/port.ts';

const LEDGER = 'ledger/';
const AGAIN_MS = 50;

/** Counts how often each record of the ledger is written. */
export class LedgerWatch implements AsyncDisposable {
  readonly writes = new Map<string, number>();
  readonly #store: Store;
  #next: number;
  #watch: Watch | undefined;
  #isOver = false;

  private constructor(store: Store, from: number) {
    this.#store = store;
    this.#next = from;
    this.#open();
  }

  /** Watches from the next commit on. */
  static async start(store: Store): Promise<LedgerWatch> {
    const { revision } = await store.list({ prefix: LEDGER, limit: 1 });
    return new LedgerWatch(store, revision + 1);
  }

  /** Resolves when all up to the revision has been seen. */
  async reach(revision: number): Promise<void> {
    while (this.#next <= revision) await sleep(AGAIN_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#watch?.close();
  }

  #open(): void {
    this.#watch = this.#store.watch('', this.#next, {
      onOpen: () => undefined,
      onBatch: (batch) => this.#saw(batch),
      onEnd: (reason) => {
        // Nobody compacts this store.
        if (!this.#isOver && reason !== 'compacted') this.#open();
      },
    });
  }

  #saw({ revision, changes }: WatchBatch): void {
    for (const { key } of changes) if (key.startsWith(LEDGER)) this.writes.set(key, (this.writes.get(key) ?? 0) + 1);
    this.#next = revision + 1;
  }
}
