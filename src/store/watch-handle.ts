import { StoreUnavailable, type Store, type WatchBatch, type WatchEnd } from './port.ts';

/** A watch of the store as promises. */
export interface OpenWatch {
  /** Resolves when the store confirmed the watch. Rejects with StoreUnavailable `unreachable` when it ended before. */
  readonly opened: Promise<void>;
  /** Resolves when the watch has ended; never rejects. */
  readonly ended: Promise<WatchEnd>;
  /** No batch comes any more: the watch has ended, or was closed. */
  readonly isOver: boolean;
  close(): void;
}

/**
 * Opens a watch on the keys under the prefix from a revision on (inclusive).
 * @param onBatch is called with each batch in revision order, and no more after `close`; it must not throw
 */
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
  // A caller that waits for `ended` alone must not cause an unhandled rejection.
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
