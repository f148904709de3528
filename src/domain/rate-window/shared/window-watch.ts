import type { Log } from '../../../log.ts';
import type { Entry, Store, WatchBatch } from '../../../store/port.ts';
import { openWatch } from '../../../store/watch-handle.ts';
import type { Clock } from '../../../time/clock.ts';
import { KEYS } from '../../records/keys.ts';

export interface WindowWatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly saw: (accountId: string, entry: Entry) => void;
  /** It listens, for the first time or again: what was written in between, it has not seen. */
  readonly missed: () => void;
}

const AGAIN_AFTER_MS = 500;

/**
 * Listens to the windows that other replicas write. A hint: whoever misses one learns of it by a conflict; but what is
 * held here is asked back this way, and counts as spent where nobody listens.
 */
export class WindowWatch {
  readonly #deps: WindowWatchDeps;
  /** When it was last known to listen, on the monotonic clock; undefined while it does. */
  #deafSince: number | undefined;

  constructor(deps: WindowWatchDeps) {
    this.#deps = deps;
    this.#deafSince = deps.clock.monotonic();
  }

  /** How long this replica has not been told of others' windows; 0 while it is. */
  ageSeconds(): number {
    return this.#deafSince === undefined ? 0 : (this.#deps.clock.monotonic() - this.#deafSince) / 1000;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    while (!signal.aborted) {
      try {
        await this.#listen(signal);
      } catch (err) {
        if (!signal.aborted) log.debug({ err }, 'the watch on the rate windows broke off; it is opened again');
      }
      this.#deafSince ??= clock.monotonic();
      await clock.sleep(AGAIN_AFTER_MS, signal);
    }
  }

  /** What was missed before is not fetched: a window that is needed is read. */
  async #listen(signal: AbortSignal): Promise<void> {
    const { store } = this.#deps;
    const { revision } = await store.list({ prefix: KEYS.rateWindows, limit: 1, keysOnly: true });
    // Nobody would close a watch that was opened after the signal.
    if (signal.aborted) return;
    const watch = openWatch(store, KEYS.rateWindows, revision + 1, (batch) => this.#tell(batch));
    const close = (): void => watch.close();
    signal.addEventListener('abort', close, { once: true });
    try {
      await watch.opened;
      this.#deafSince = undefined;
      this.#deps.missed();
      await watch.ended;
    } finally {
      signal.removeEventListener('abort', close);
      watch.close();
    }
  }

  #tell({ changes }: WatchBatch): void {
    for (const { key, value, revision } of changes) {
      if (value !== undefined) this.#deps.saw(key.slice(KEYS.rateWindows.length), { key, value, revision });
    }
  }
}
