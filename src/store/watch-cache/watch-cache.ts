import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import { StoreUnavailable, type Head } from '../port.ts';
import { coalescedRead } from './coalesced-read.ts';
import { checkConsistency, type ConsistencyCheckOptions } from './consistency-check.ts';
import { DeferredReads } from './deferred-read.ts';
import { Filler, isSameHead, type FillerOptions } from './filler.ts';
import type { ConsistencyVerdict } from './metrics.ts';

export type { WatchCacheSink } from './sink.ts';

/** `groups` together are all of the cached range but `head`. */
interface WatchCacheOptions extends FillerOptions, ConsistencyCheckOptions {
  /** The pause between two consistency checks; 5 minutes where it is absent. */
  readonly checkEveryMs?: number;
}

/** A read waits this long for memory to catch up with the store; after that it reads the store itself. */
export const CATCH_UP_MS = 50;
/** A watch that has brought nothing for so long while memory is behind counts as broken: it is opened again. */
const DEAF_MS = 5000;
/** The pause between two reads of `head` that the watch cache asks for itself. */
const PULSE_MS = 1000;
/** A deferred read waits for a pulse and its answer, or until so many wait that they are worth a read of their own. */
const DEFERRED_MS = 1300;
const DEFERRED_MAX = 5000;
/** Without an answer of the store for so long the replica is not ready. */
const SILENT_MS = 5000;
const CHECK_EVERY_MS = 300_000;

/** Whether memory is as new as the store was, or behind it. */
export type Freshness = 'fresh' | 'behind';

/** `head` as the store told it, and what memory knew when it was asked. */
interface ReadHead {
  readonly head: Head;
  readonly before: Head;
  readonly generation: number;
}

/**
 * A range of the store in memory, with linearizable reads: before memory is read, one tiny read of `head`, shared by
 * all requests that wait for it, tells which revision memory must have reached. The watch only feeds memory; a silent
 * one makes reads slower, never wrong (ADR 0002; the same idea as KEP-2340).
 */
export class WatchCache implements AsyncDisposable {
  readonly #options: WatchCacheOptions;
  readonly #stop = new AbortController();
  readonly #filler: Filler;
  readonly #readHead: () => Promise<ReadHead>;
  readonly #deferred = new DeferredReads<ReadHead>(DEFERRED_MS, DEFERRED_MAX);
  readonly #waiting = new Set<{ readonly revision: number; readonly wake: (freshness: Freshness) => void }>();
  #lastHead = 0;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #behindSince: number | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: WatchCacheOptions) {
    this.#options = options;
    this.#filler = new Filler(
      options,
      { advanced: () => this.#advanced(), dropped: () => this.#dropped() },
      this.#stop.signal,
    );
    const read = async (): Promise<ReadHead> => {
      const { known: before, generation } = this.#filler;
      return { head: await this.#headOrDrop(), before, generation };
    };
    this.#readHead = coalescedRead(() => this.#deferred.join(read()));
  }

  /** Begins to fill and to follow; `ready` tells when it has filled. Call it once. */
  start(): void {
    this.#running = Promise.all([this.#filler.follow(), this.#pulse(), this.#checkRegularly()]);
  }

  /** Memory is filled, and the store has answered within the last 5 s. */
  get ready(): boolean {
    return this.#filler.filled && this.#options.clock.monotonic() - this.#answeredAt < SILENT_MS;
  }

  /** The number of store revisions that memory was behind at the last read of `head`. */
  get lag(): number {
    return Math.max(0, this.#lastHead - this.#filler.applied);
  }

  /** The store revision of the last `head` that was read. */
  get lastHead(): number {
    return this.#lastHead;
  }

  /**
   * The newest instant that commits have had, up to the revision that memory has reached (head-value.ts): 0 where none
   * is known. The newest `head` alone would not tell it, since replicas write theirs at once.
   */
  get newestInstant(): number {
    return this.#filler.newestInstant;
  }

  /** The store revision that memory has reached. */
  get applied(): number {
    return this.#filler.applied;
  }

  /**
   * Resolves with `fresh` when memory is as new as the store was when this was called, or with `behind` when it does
   * not get there within `CATCH_UP_MS`: then the caller reads what it needs from the store (A12).
   * @throws StoreUnavailable when the store does not answer within its deadline
   */
  fresh(): MaybePromise<Freshness> {
    const { store } = this.#options;
    if (!store.headNow) return this.#readHead().then((read) => this.#freshnessOf(read));
    const { known: before, generation } = this.#filler;
    return this.#freshnessOf({ head: store.headNow(), before, generation });
  }

  /**
   * As `fresh`, but causes no read of its own: it waits for the next read of `head` that somebody else asks for, for
   * 1.3 s at most.
   * @throws StoreUnavailable when the store does not answer within its deadline
   */
  freshDeferred(): MaybePromise<Freshness> {
    if (this.#options.store.headNow) return this.fresh();
    return this.#deferred.wait(this.#readHead).then((read) => this.#freshnessOf(read));
  }

  /**
   * Runs one consistency check. Memory that differs from the store is dropped and listed anew.
   * @returns `unknown` when the two could not be compared
   * @throws StoreUnavailable when the store does not answer within its deadline
   */
  checkConsistency(): Promise<ConsistencyVerdict> {
    return checkConsistency(this.#filler, this.#options, this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#filler.closeWatch();
    await this.#running;
    this.#wake('behind');
  }

  /**
   * The watch may have told of the loss as of removals by this store, under a `head` that is the newest again once the
   * data is back: memory would pass for it (A14).
   */
  async #headOrDrop(): Promise<Head> {
    try {
      return await this.#options.store.head();
    } catch (error) {
      if (error instanceof StoreUnavailable && error.reason === 'replaced') this.#filler.drop('the store was lost');
      throw error;
    }
  }

  #freshnessOf({ head, before, generation }: ReadHead): MaybePromise<Freshness> {
    const filler = this.#filler;
    this.#answeredAt = this.#options.clock.monotonic();
    this.#lastHead = head.revision;
    filler.noteInstant(head);
    if (generation === filler.generation && (contradicts(head, before) || this.#isUnknownHere(head))) {
      filler.drop('the store was restored or replaced');
      return this.#fellBehind();
    }
    if (filler.filled && head.revision <= filler.applied) {
      this.#behindSince = undefined;
      return 'fresh';
    }
    return this.#reach(head.revision).then((reached) =>
      reached === 'fresh' && filler.filled ? 'fresh' : this.#fellBehind(),
    );
  }

  /** Memory knows every `head` up to the revision that it has reached: one that it does not know is another store's. */
  #isUnknownHere(head: Head): boolean {
    const { filled, applied, known } = this.#filler;
    if (!filled || head.revision > applied || head.revision < known.revision) return false;
    return !isSameHead(head, known);
  }

  #fellBehind(): Freshness {
    const { clock, log, metrics } = this.#options;
    metrics.cacheBehind();
    if (!this.#filler.filled) return 'behind';
    const now = clock.monotonic();
    this.#behindSince ??= now;
    if (now - this.#behindSince > DEAF_MS) {
      this.#behindSince = undefined;
      log.warn('the watch is silent, opening another');
      this.#filler.closeWatch();
    }
    return 'behind';
  }

  async #reach(revision: number): Promise<Freshness> {
    const { promise, resolve } = Promise.withResolvers<Freshness>();
    const waiter = { revision, wake: resolve };
    this.#waiting.add(waiter);
    const patience = setTimeout(() => resolve('behind'), CATCH_UP_MS);
    const freshness = await promise;
    clearTimeout(patience);
    this.#waiting.delete(waiter);
    return freshness;
  }

  #advanced(): void {
    this.#behindSince = undefined;
    this.#wake('fresh');
  }

  #dropped(): void {
    this.#behindSince = undefined;
    this.#wake('behind');
  }

  #wake(freshness: Freshness): void {
    const { filled, applied } = this.#filler;
    for (const waiter of this.#waiting) {
      if (freshness === 'behind' || (filled && waiter.revision <= applied)) waiter.wake(freshness);
    }
  }

  /** Asks for `head` once a second: a replica without traffic would not notice that it was cut off. */
  async #pulse(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        await this.fresh();
      } catch {
        // `ready` tells that the store is silent.
      }
      await clock.sleep(PULSE_MS, this.#stop.signal);
    }
  }

  async #checkRegularly(): Promise<void> {
    const { clock, log, metrics, checkEveryMs = CHECK_EVERY_MS } = this.#options;
    for (;;) {
      await clock.sleep(checkEveryMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      const verdict = await this.checkConsistency().catch((error: unknown) => {
        log.info({ err: error }, 'the watch cache could not be compared with the store');
        return 'unknown' as const;
      });
      metrics.cacheChecked(verdict);
    }
  }
}

/** `head` never goes back, and the same revision always bears the same epoch id, within one history. */
function contradicts(head: Head, before: Head): boolean {
  if (head.revision < before.revision) return true;
  return head.revision === before.revision && head.epochId !== before.epochId;
}
