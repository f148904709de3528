import type { Log } from '../../../log.ts';
import { HEAD_KEY, type Entry, type Store, type WatchBatch } from '../../../store/port.ts';
import { openWatch } from '../../../store/watch-handle.ts';
import type { Clock } from '../../../time/clock.ts';
import { RATE_PREFIX } from '../../records/rate-records.ts';
import { KEYS } from '../../records/keys.ts';
import type { AgeExchange } from './age-exchange.ts';
import type { RevisionClock } from './revision-clock.ts';

interface WindowWatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly revisions: RevisionClock;
  readonly exchange: AgeExchange;
  /** A record changed. */
  readonly changed: (accountId: string, entry: Entry) => void;
  /** What is known may be wrong: the watch did not bring what was written before it opened. */
  readonly forget: () => void;
  /** The store was put back to an earlier state. */
  readonly putBack: () => void;
}

const REOPEN_AFTER_MS = 500;
/** A watch may be silent: the revision of the store is looked at as often as this. */
const LOOK_EVERY_MS = 1000;
/** A look or a pause that took so much longer than usual: the process stood still, or the store was away. */
const LATE_MS = 1000;

/**
 * Watches the windows that other replicas write. It is a hint: a replica that misses a change learns of it by a
 * conflict. But allotments are recalled this way, and an allotment of a replica that does not hear of it counts as
 * spent; and units of others count from when this replica heard that their revision had been reached.
 */
export class WindowWatch {
  readonly #deps: WindowWatchDeps;
  /** When the watch was last known to be open, on the monotonic clock; undefined while it is open. */
  #disconnectedAt: number | undefined;
  /** When the revision of the store was last seen. */
  #lookedAt = Number.POSITIVE_INFINITY;

  constructor(deps: WindowWatchDeps) {
    this.#deps = deps;
    this.#disconnectedAt = deps.clock.monotonic();
  }

  /** How long, in seconds, the watch has not been open; 0 while it is. */
  ageSeconds(): number {
    return this.#disconnectedAt === undefined ? 0 : (this.#deps.clock.monotonic() - this.#disconnectedAt) / 1000;
  }

  /** Notices a gap before the next look does. */
  checkGap(): void {
    const { clock, exchange } = this.#deps;
    if (clock.monotonic() - this.#lookedAt > LOOK_EVERY_MS + 2 * LATE_MS) exchange.missed();
  }

  /** Keeps the watch open until the signal aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    this.#deps.exchange.missed();
    await Promise.all([this.#watching(signal), this.#looking(signal)]);
  }

  async #watching(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
      } catch (error) {
        if (!signal.aborted) log.debug({ err: error }, 'the watch on the rate windows ended; it is opened again');
      }
      this.#disconnectedAt ??= clock.monotonic();
      await clock.sleep(REOPEN_AFTER_MS, signal);
    }
  }

  async #looking(signal: AbortSignal): Promise<void> {
    const { clock, exchange } = this.#deps;
    for (;;) {
      const before = clock.monotonic();
      await clock.sleep(LOOK_EVERY_MS, signal);
      if (signal.aborted) return;
      const started = clock.monotonic();
      const found = await this.#look().catch(() => undefined);
      const isLate = started - before > LOOK_EVERY_MS + LATE_MS || clock.monotonic() - started > LATE_MS;
      if (found === undefined || isLate) exchange.missed();
      if (found !== undefined && this.#disconnectedAt === undefined) void exchange.ask();
    }
  }

  /** @throws StoreUnavailable */
  async #look(): Promise<number> {
    const { store, clock, revisions, putBack } = this.#deps;
    const before = revisions.latest;
    // The revision of the store alone is wanted: etcd would count all keys of a larger range.
    const { revision } = await store.list({ prefix: HEAD_KEY, limit: 1, keysOnly: true });
    if (revisions.found(revision, before)) putBack();
    this.#lookedAt = clock.monotonic();
    return revision;
  }

  /** Does not fetch what was missed before: a window that is needed is read. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { store, exchange, forget } = this.#deps;
    const revision = await this.#look();
    // A watch that is opened after the signal would never be closed.
    if (signal.aborted) return;
    const watch = openWatch(store, RATE_PREFIX, revision + 1, (batch) => this.#report(batch));
    const close = (): void => watch.close();
    signal.addEventListener('abort', close, { once: true });
    try {
      await watch.opened;
      this.#disconnectedAt = undefined;
      forget();
      void exchange.ask();
      await watch.ended;
    } finally {
      signal.removeEventListener('abort', close);
      watch.close();
    }
  }

  #report({ changes, revision: reached }: WatchBatch): void {
    const { revisions, exchange, changed } = this.#deps;
    revisions.saw(reached);
    for (const { key, value, revision } of changes) {
      if (value === undefined) continue;
      if (key.startsWith(KEYS.rateQuestion.under())) exchange.observe({ key, value, revision });
      else changed(key.slice(KEYS.rateWindow.under().length), { key, value, revision });
    }
  }
}
