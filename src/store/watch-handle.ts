import { StoreUnavailable, type Store, type WatchBatch, type WatchEnd } from './port.ts';

/** One watch as promises. */
export interface OpenWatch {
  /** Resolves when the store confirmed the watch; rejects with StoreUnavailable when it ended before. */
  readonly opened: Promise<void>;
  readonly ended: Promise<WatchEnd>;
  readonly isOver: boolean;
  close(): void;
}

export function openWatch(store: Store, prefix: string, from: number, onBatch: (batch: WatchBatch) => void): OpenWatch {
  const opened = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<WatchEnd>();
  let over = false;
  const watch = store.watch(prefix, from, {
    onOpen: opened.resolve,
    onBatch(batch) {
      // After close() the holder has moved on: a late batch would write into a listing begun anew.
      if (!over) onBatch(batch);
    },
    onEnd(reason) {
      over = true;
      ended.resolve(reason);
      opened.reject(new StoreUnavailable('unreachable', `The watch ended before it was open: ${reason}.`));
    },
  });
  // Whoever waits for the end alone must not be met by an unhandled rejection.
  opened.promise.catch(() => undefined);
  return {
    opened: opened.promise,
    ended: ended.promise,
    get isOver() {
      return over;
    },
    close() {
      over = true;
      watch.close();
    },
  };
}
