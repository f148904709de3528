import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import {
  CACHED_PREFIX,
  HEAD_KEY,
  PAGE_ENTRIES_MAX,
  StoreUnavailable,
  type Entry,
  type Head,
  type Page,
  type Store,
  type WatchBatch,
} from '../port.ts';
import { openWatch, type OpenWatch } from '../watch-handle.ts';
import { sharedRead } from './coalesced-read.ts';
import { Passengers } from './deferred-read.ts';
import { digestOf, storedDigest } from './digest.ts';
import type { WatchCacheMetrics } from './metrics.ts';

/** Where the directory's records are kept in memory: parsed, indexed, and nobody else's business. */
export interface WatchCacheSink {
  put(entry: Entry): void;
  remove(key: string): void;
  clear(): void;
  /** The revision at which the sink holds the key; undefined where it holds none. */
  revisionOf(key: string): number | undefined;
  /** Every key that the sink holds under the prefix, with its revision, in any order. */
  held(prefix: string): Iterable<readonly [key: string, revision: number]>;
  /** All of the store is held, as of some revision; said after each filling, and after each batch from then on. */
  settled(): void;
}

export interface WatchCacheOptions {
  readonly store: Store;
  readonly sink: WatchCacheSink;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: WatchCacheMetrics;
  /** The key ranges that prove themselves one by one, together all of the directory but `head`. */
  readonly groups: readonly string[];
  readonly proveEveryMs?: number;
}

/** How long a read waits for memory to catch up with the store before it reads the store itself. */
export const CATCH_UP_MS = 50;
/** A watch that leaves memory behind for so long without bringing anything is deaf: it is opened again. */
const DEAF_MS = 5000;
const PULSE_MS = 1000;
/** Who waits for a question of others waits a pulse and its answer; or until so many wait that they are worth a question. */
const PASSING_MS = 1300;
const PASSENGERS_MAX = 5000;
/** Without an answer of the store for so long the replica leaves the rotation. */
const SILENT_MS = 5000;
/** A watch that broke off sooner has failed; the next one is not opened at once. */
const STEADY_MS = 1000;
const RETRY_MS = [100, 200, 400, 800, 1600, 3000] as const;
const PROVE_EVERY_MS = 300_000;

export type Freshness = 'fresh' | 'behind';

/** `head` as the store told it, and what memory knew when it was asked. */
interface ReadHead {
  readonly head: Head;
  readonly before: Head;
  readonly history: number;
}

/**
 * A range of the store in memory, with linearizable reads: before memory is read, one tiny read of `head`, shared by
 * all requests that wait for it, tells which revision memory must have reached. The watch only feeds memory; a silent
 * one makes reads slower, never wrong (ADR 0002; the same idea as KEP-2340).
 */
export class WatchCache implements AsyncDisposable {
  readonly #options: WatchCacheOptions;
  readonly #stop = new AbortController();
  readonly #head: () => Promise<ReadHead>;
  readonly #passengers: Passengers<ReadHead>;
  readonly #waiting = new Set<{ readonly revision: number; readonly wake: (freshness: Freshness) => void }>();

  /** The last `head` known by the watch or a listing; its mark tells this store's history from another one's. */
  #known: Head = NO_HEAD;
  /** Counts how often memory was dropped: a read of `head` that began before says nothing about what is there now. */
  #history = 0;
  #applied = 0;
  #filled = false;
  /** The newest revision that the listing met: memory is of one revision once it has reached this one. */
  #listed = 0;
  #lastHead = 0;
  /** Keys removed while a listing is under way: a page read earlier must not bring them back. */
  #removed: Map<string, number> | undefined;
  #watch: OpenWatch | undefined;
  #answeredAt: number;
  #behindSince: number | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: WatchCacheOptions) {
    this.#options = options;
    this.#answeredAt = Number.NEGATIVE_INFINITY;
    const read = async (): Promise<ReadHead> => {
      const [before, history] = [this.#known, this.#history];
      return { head: await options.store.head(), before, history };
    };
    this.#passengers = new Passengers(PASSING_MS, PASSENGERS_MAX);
    this.#head = sharedRead(() => this.#passengers.ride(read()));
  }

  /** Begins to fill and to follow; `ready` tells when it has filled. */
  start(): void {
    this.#running = Promise.all([this.#follow(), this.#pulse(), this.#prove()]);
  }

  /** Filled, and the store has answered lately. */
  get ready(): boolean {
    return this.#filled && this.#options.clock.monotonic() - this.#answeredAt < SILENT_MS;
  }

  /** Store revisions that memory was behind at the last read of `head`. */
  get lag(): number {
    return Math.max(0, this.#lastHead - this.#applied);
  }

  /** The store revision that memory has reached. */
  get applied(): number {
    return this.#applied;
  }

  /**
   * Resolves when memory is as new as the store was when this was called, or `behind` when it does not get there in
   * time: then the caller reads what it needs from the store.
   * @throws StoreUnavailable
   */
  fresh(): MaybePromise<Freshness> {
    const { store } = this.#options;
    if (!store.headNow) return this.#head().then((read) => this.#judge(read));
    return this.#judge({ head: store.headNow(), before: this.#known, history: this.#history });
  }

  /**
   * As `fresh`, but asks the store nothing that would not be asked anyway: it waits for the next question that somebody
   * else puts, the pulse at the latest.
   * @throws StoreUnavailable
   */
  freshInPassing(): MaybePromise<Freshness> {
    if (this.#options.store.headNow) return this.fresh();
    return this.#passengers.wait(this.#head).then((read) => this.#judge(read));
  }

  #judge({ head, before, history }: ReadHead): MaybePromise<Freshness> {
    this.#answeredAt = this.#options.clock.monotonic();
    this.#lastHead = head.revision;
    if (history === this.#history && (contradicts(head, before) || this.#isUnknownHere(head))) {
      this.#forget('the store was restored or replaced');
      return this.#fellBehind();
    }
    if (this.#filled && head.revision <= this.#applied) {
      this.#behindSince = undefined;
      return 'fresh';
    }
    return this.#reach(head.revision).then((reached) =>
      reached === 'fresh' && this.#filled ? 'fresh' : this.#fellBehind(),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#watch?.close();
    await this.#running;
    this.#wake('behind');
  }

  /** Memory knows every `head` up to the revision that it has reached: one that it does not know is another store's. */
  #isUnknownHere(head: Head): boolean {
    if (!this.#filled || head.revision > this.#applied || head.revision < this.#known.revision) return false;
    return !isSameHead(head, this.#known);
  }

  #fellBehind(): Freshness {
    const { clock, log, metrics } = this.#options;
    metrics.cacheBehind();
    if (!this.#filled) return 'behind';
    const now = clock.monotonic();
    this.#behindSince ??= now;
    if (now - this.#behindSince > DEAF_MS) {
      this.#behindSince = undefined;
      log.warn('the watch is deaf, opening another');
      this.#watch?.close();
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

  #wake(freshness: Freshness): void {
    for (const waiter of this.#waiting) {
      if (freshness === 'behind' || (this.#filled && waiter.revision <= this.#applied)) waiter.wake(freshness);
    }
  }

  /** Keeps memory filled and fed until stopped. */
  async #follow(): Promise<void> {
    const { clock, log, metrics } = this.#options;
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      try {
        const resumes = this.#filled && (await this.#sameHistory());
        const watch = resumes ? await this.#open(this.#applied + 1) : await this.#fill();
        const openSince = clock.monotonic();
        const reason = await watch.ended;
        metrics.cacheWatchEnded(reason);
        if (reason === 'compacted') this.#forget('the history since the last change is compacted');
        if (reason === 'disconnected' && clock.monotonic() - openSince < STEADY_MS) {
          throw new StoreUnavailable('unreachable', 'The watch ended soon after it was open.');
        }
        failures = 0;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        const pause = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? PULSE_MS;
        failures += 1;
        log.warn({ err: error, failures }, 'the directory could not follow the store, will retry');
        await clock.sleep(pause, this.#stop.signal);
      } finally {
        this.#watch?.close();
      }
    }
  }

  /** Before a watch is opened again: is what memory holds a part of this store's history? */
  async #sameHistory(): Promise<boolean> {
    const then = await this.#options.store.headAt(this.#applied);
    if (typeof then === 'object' && isSameHead(then, this.#known)) return true;
    this.#forget(then === 'compacted' ? 'the history is compacted' : 'the store was restored or replaced');
    return false;
  }

  #forget(why: string): void {
    if (!this.#filled) return;
    this.#history += 1;
    this.#options.log.warn({ why }, 'the directory is listed anew');
    this.#options.metrics.cacheRelisted();
    this.#filled = false;
    this.#behindSince = undefined;
    this.#known = NO_HEAD;
    this.#applied = 0;
    this.#watch?.close();
    this.#options.sink.clear();
    this.#wake('behind');
  }

  /** Watch first, then list unpinned: the newest revision of a key wins, and what was removed stays removed. */
  async #fill(): Promise<OpenWatch> {
    const { store, sink, log, clock } = this.#options;
    const startedAt = clock.monotonic();
    sink.clear();
    this.#applied = 0;
    // One page tells both where the store is and its `head` there: no other head may pass for the one before the watch.
    const start = await store.list({ prefix: HEAD_KEY, limit: 1 });
    const [since, head] = [start.revision, headOf(start)];
    this.#known = head;
    this.#removed = new Map();
    const watch = await this.#open(since + 1);
    this.#listed = await this.#listAll(watch);
    const then = await store.headAt(since);
    if (then === 'future' || (then !== 'compacted' && !isSameHead(then, head))) {
      throw new StoreUnavailable('failed', 'The store was restored or replaced while the directory was being listed.');
    }
    this.#removed = undefined;
    this.#applied = Math.max(this.#applied, since);
    this.#filled = true;
    sink.settled();
    this.#wake('fresh');
    log.info({ applied: this.#applied, ms: Math.round(clock.monotonic() - startedAt) }, 'the directory is filled');
    return watch;
  }

  /** The next page is on its way while one is taken up. @returns the newest revision that was listed */
  async #listAll(watch: OpenWatch): Promise<number> {
    let newest = 0;
    let coming: Promise<Page> | undefined = this.#page(undefined);
    while (coming !== undefined) {
      const page: Page = await coming;
      this.#stop.signal.throwIfAborted();
      if (watch.isOver) {
        throw new StoreUnavailable('failed', 'The watch ended while the directory was being listed.');
      }
      coming = page.next === undefined ? undefined : this.#page(page.next);
      for (const entry of page.entries) {
        newest = Math.max(newest, entry.revision);
        this.#applyListed(entry);
      }
      // Pages are paced by the event loop's turns: requests go on between them.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return newest;
  }

  #page(after: string | undefined): Promise<Page> {
    const request = { prefix: CACHED_PREFIX, limit: PAGE_ENTRIES_MAX, ...(after !== undefined && { after }) };
    const page = this.#options.store.list(request);
    // It may fail while the page before is taken up; whoever waits for it then is told all the same.
    page.catch(() => undefined);
    return page;
  }

  #applyListed(entry: Entry): void {
    const { sink } = this.#options;
    // The watch brings every head after its start; a newer one in a page belongs to changes that are yet to come.
    if (entry.key === HEAD_KEY) return;
    const known = Math.max(sink.revisionOf(entry.key) ?? 0, this.#removed?.get(entry.key) ?? 0);
    if (entry.revision > known) sink.put(entry);
  }

  async #open(from: number): Promise<OpenWatch> {
    const watch = openWatch(this.#options.store, CACHED_PREFIX, from, (batch) => this.#apply(batch));
    this.#watch = watch;
    await watch.opened;
    this.#stop.signal.throwIfAborted();
    return watch;
  }

  #apply(batch: WatchBatch): void {
    const { sink, metrics } = this.#options;
    for (const change of batch.changes) {
      if (change.key === HEAD_KEY) {
        if (change.value !== undefined) this.#known = { revision: change.revision, mark: change.value };
      } else if ((sink.revisionOf(change.key) ?? 0) < change.revision) {
        if (change.value !== undefined) sink.put({ ...change, value: change.value });
        else {
          sink.remove(change.key);
          this.#removed?.set(change.key, change.revision);
        }
      }
    }
    this.#applied = Math.max(this.#applied, batch.revision);
    this.#behindSince = undefined;
    metrics.cacheApplied(this.#applied);
    if (!this.#filled) return;
    sink.settled();
    this.#wake('fresh');
  }

  /** Without traffic nobody asks for `head`, and a replica that was cut off would not know it. */
  async #pulse(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#ask();
      await this.#options.clock.sleep(PULSE_MS, this.#stop.signal);
    }
  }

  async #ask(): Promise<void> {
    try {
      await this.fresh();
    } catch {
      // That the store is silent is what `ready` tells.
    }
  }

  /** Compares memory with the store, group by group, at the same revision. */
  async #prove(): Promise<void> {
    const { clock, log, metrics, proveEveryMs = PROVE_EVERY_MS } = this.#options;
    for (;;) {
      await clock.sleep(proveEveryMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      const verdict = await this.prove().catch((error: unknown) => {
        log.info({ err: error }, 'the directory could not be compared with the store');
        return 'unknown' as const;
      });
      metrics.cacheChecked(verdict);
    }
  }

  /**
   * One round of the proof. `unknown`: the history went away meanwhile, or the directory is being filled, or it holds
   * what was listed beyond the revision that the watch has reached.
   * @throws StoreUnavailable
   */
  async prove(): Promise<'equal' | 'different' | 'unknown'> {
    for (const group of this.#options.groups) {
      if (!this.#filled || this.#applied < this.#listed) return 'unknown';
      const [revision, history] = [this.#applied, this.#history];
      const mine = digestOf(this.#options.sink.held(group));
      const stored = await storedDigest(this.#options.store, group, revision);
      if (stored === 'compacted' || history !== this.#history) return 'unknown';
      if (stored.sum !== mine.sum || stored.count !== mine.count) {
        this.#options.log.error({ group, revision, mine, stored }, 'the directory differs from the store');
        this.#forget('it differs from the store');
        return 'different';
      }
    }
    return 'equal';
  }
}

const NO_HEAD: Head = { revision: 0, mark: '' };

function headOf({ entries: [entry] }: Page): Head {
  return entry?.key === HEAD_KEY ? { revision: entry.revision, mark: entry.value } : NO_HEAD;
}

const isSameHead = (a: Head, b: Head): boolean => a.revision === b.revision && a.mark === b.mark;

/** `head` never goes back, and the same revision always bears the same mark, within one history. */
function contradicts(head: Head, before: Head): boolean {
  if (head.revision < before.revision) return true;
  return head.revision === before.revision && head.mark !== before.mark;
}
