import type { Log } from '../../../log.ts';
import type { Entry, Store, WatchBatch } from '../../../store/port.ts';
import { openWatch } from '../../../store/watch-handle.ts';
import type { Clock } from '../../../time/clock.ts';
import { KEYS } from '../../records/keys.ts';

export interface WindowWatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** A record changed. */
  readonly changed: (accountId: string, entry: Entry) => void;
  /** The watch is open, for the first time or again: it did not bring what was written in between. */
  readonly connected: () => void;
}

const REOPEN_AFTER_MS = 500;

/**
 * Watches the windows that other replicas write. It is a hint: a replica that misses a change learns of it by a
 * conflict. But allotments are recalled this way, and an allotment of a replica that does not hear of it counts as
 * spent.
 */
export class WindowWatch {
  readonly #deps: WindowWatchDeps;
  /** When the watch was last known to be open, on the monotonic clock; undefined while it is open. */
  #disconnectedAt: number | undefined;

  constructor(deps: WindowWatchDeps) {
    this.#deps = deps;
    this.#disconnectedAt = deps.clock.monotonic();
  }

  /** How long, in seconds, the watch has not been open; 0 while it is. */
  ageSeconds(): number {
    return this.#disconnectedAt === undefined ? 0 : (this.#deps.clock.monotonic() - this.#disconnectedAt) / 1000;
  }

  /** Keeps the watch open until the signal aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
      } catch (err) {
        if (!signal.aborted) log.debug({ err }, 'the watch on the rate windows ended; it is opened again');
      }
      this.#disconnectedAt ??= clock.monotonic();
      await clock.sleep(REOPEN_AFTER_MS, signal);
    }
  }

  /** Does not fetch what was missed before: a window that is needed is read. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { store } = this.#deps;
    const { revision } = await store.list({ prefix: KEYS.rateWindows, limit: 1, keysOnly: true });
    // A watch that is opened after the signal would never be closed.
    if (signal.aborted) return;
    const watch = openWatch(store, KEYS.rateWindows, revision + 1, (batch) => this.#report(batch));
    const close = (): void => watch.close();
    signal.addEventListener('abort', close, { once: true });
    try {
      await watch.opened;
      this.#disconnectedAt = undefined;
      this.#deps.connected();
      await watch.ended;
    } finally {
      signal.removeEventListener('abort', close);
      watch.close();
    }
  }

  #report({ changes }: WatchBatch): void {
    for (const { key, value, revision } of changes) {
      if (value !== undefined) this.#deps.changed(key.slice(KEYS.rateWindows.length), { key, value, revision });
    }
  }
}
