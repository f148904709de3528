import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { DirectoryMetrics } from '../metrics.ts';
import { digestOf, type Digest } from './directory-digest.ts';
import {
  DIRECTORY_PREFIX,
  HEAD_KEY,
  PAGE_ENTRIES_MAX,
  StoreUnavailable,
  type Entry,
  type Head,
  type Store,
  type WatchBatch,
} from './port.ts';
import { openWatch, type OpenWatch } from './directory-watch.ts';
import { sharedRead } from './shared-read.ts';

/** Where the directory's records are kept in memory: parsed, indexed, and nobody else's business. */
export interface DirectorySink {
  put(entry: Entry): void;
  remove(key: string): void;
  clear(): void;
  /** The revision at which the sink holds the key; undefined where it holds none. */
  revisionOf(key: string): number | undefined;
  /** Every key that the sink holds under the prefix, with its revision, in any order. */
  held(prefix: string): Iterable<readonly [key: string, revision: number]>;
  /** A batch has been applied as a whole. */
  settled(): void;
}

export interface DirectoryOptions {
  readonly store: Store;
  readonly sink: DirectorySink;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: DirectoryMetrics;
  /** The key ranges that prove themselves one by one, together all of the directory but `head`. */
  readonly groups: readonly string[];
  readonly proveEveryMs?: number;
}

/** How long a read waits for memory to catch up with the store before it reads the store itself. */
const CATCH_UP_MS = 50;
/** A watch that leaves memory behind for so long is deaf: it is opened again. */
const DEAF_MS = 5000;
const PULSE_MS = 1000;
/** Without an answer of the store for so long the replica leaves the rotation. */
const SILENT_MS = 5000;
const RETRY_MS = [100, 200, 400, 800, 1600, 3000] as const;
const PROVE_EVERY_MS = 300_000;

type Freshness = 'fresh' | 'behind';

/**
 * A range of the store in memory, with linearizable reads: before memory is read, one tiny read of `head`, shared by
 * all requests that wait for it, tells which revision memory must have reached. The watch only feeds memory; a silent
 * one makes reads slower, never wrong (DESIGN.md, "Consistent reads from memory"; the same idea as KEP-2340).
 */
export class Directory implements AsyncDisposable {
  readonly #options: DirectoryOptions;
  readonly #stop = new AbortController();
  readonly #head: () => Promise<{ head: Head; before: Head; history: number }>;
  readonly #waiting = new Set<{ readonly revision: number; readonly wake: (freshness: Freshness) => void }>();

  /** The last `head` known by the watch or a listing; its mark tells this store's history from another one's. */
  #known: Head = { revision: 0, mark: '' };
  /** Counts how often memory was dropped: a read of `head` that began before says nothing about what is there now. */
  #history = 0;
  #applied = 0;
  #filled = false;
  #lastHead = 0;
  /** Keys removed while a listing is under way: a page read earlier must not bring them back. */
  #removed: Map<string, number> | undefined;
  #watch: OpenWatch | undefined;
  #answeredAt: number;
  #behindSince: number | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: DirectoryOptions) {
    this.#options = options;
    this.#answeredAt = Number.NEGATIVE_INFINITY;
    this.#head = sharedRead(async () => {
      const [before, history] = [this.#known, this.#history];
      return { head: await options.store.head(), before, history };
    });
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
  async fresh(): Promise<Freshness> {
    const { head, before, history } = await this.#head();
    this.#answeredAt = this.#options.clock.monotonic();
    this.#lastHead = head.revision;
    if (history === this.#history && isAnotherHistory(head, before)) {
      this.#forget('the store was restored or replaced');
      return this.#fellBehind();
    }
    if (this.#filled && head.revision <= this.#applied) {
      this.#behindSince = undefined;
      return 'fresh';
    }
    const freshness = await this.#reach(head.revision);
    return freshness === 'fresh' && this.#filled ? 'fresh' : this.#fellBehind();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#watch?.close();
    await this.#running;
    this.#wake('behind');
  }

  #fellBehind(): Freshness {
    const now = this.#options.clock.monotonic();
    this.#behindSince ??= now;
    this.#options.metrics.directoryBehind();
    if (now - this.#behindSince > DEAF_MS && this.#filled) {
      this.#behindSince = undefined;
      this.#options.log.warn('the watch is deaf, opening another');
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
        if (!this.#filled || !(await this.#sameHistory())) await this.#fill();
        else await this.#open(this.#applied + 1);
        failures = 0;
        const reason = await this.#watch?.ended;
        metrics.directoryWatchEnded(reason ?? 'disconnected');
        if (reason === 'compacted') this.#forget('the history since the last change is compacted');
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
    if (typeof then === 'object' && then.revision === this.#known.revision && then.mark === this.#known.mark) {
      return true;
    }
    this.#forget(then === 'compacted' ? 'the history is compacted' : 'the store was restored or replaced');
    return false;
  }

  #forget(why: string): void {
    if (!this.#filled) return;
    this.#history += 1;
    this.#options.log.warn({ why }, 'the directory is listed anew');
    this.#options.metrics.directoryRelisted();
    this.#filled = false;
    this.#known = { revision: 0, mark: '' };
    this.#applied = 0;
    this.#watch?.close();
    this.#options.sink.clear();
    this.#wake('behind');
  }

  /** Watch first, then list unpinned: the newest revision of a key wins, and what was removed stays removed. */
  async #fill(): Promise<void> {
    const { store, sink, log, clock } = this.#options;
    const startedAt = clock.monotonic();
    sink.clear();
    this.#applied = 0;
    this.#known = { revision: 0, mark: '' };
    this.#removed = new Map();
    const since = (await store.list({ prefix: DIRECTORY_PREFIX, limit: 1, keysOnly: true })).revision;
    await this.#open(since + 1);
    await this.#listAll(since);
    this.#removed = undefined;
    this.#applied = Math.max(this.#applied, since);
    this.#filled = true;
    sink.settled();
    this.#wake('fresh');
    log.info({ applied: this.#applied, ms: Math.round(clock.monotonic() - startedAt) }, 'the directory is filled');
  }

  async #listAll(since: number): Promise<void> {
    const { store } = this.#options;
    let after: string | undefined;
    do {
      this.#stop.signal.throwIfAborted();
      if (this.#watch?.isOver === true) {
        throw new StoreUnavailable('failed', 'The watch ended while the directory was being listed.');
      }
      const page = await store.list({
        prefix: DIRECTORY_PREFIX,
        limit: PAGE_ENTRIES_MAX,
        ...(after !== undefined && { after }),
      });
      for (const entry of page.entries) this.#applyListed(entry, since);
      after = page.next;
      // Pages are paced by the event loop's turns: requests go on between them.
      await new Promise((resolve) => setImmediate(resolve));
    } while (after !== undefined);
  }

  #applyListed(entry: Entry, since: number): void {
    const { sink } = this.#options;
    if (entry.key === HEAD_KEY) {
      // A newer head than the watch's start belongs to changes that the watch is yet to bring.
      if (entry.revision <= since) this.#known = { revision: entry.revision, mark: entry.value };
      return;
    }
    const known = Math.max(sink.revisionOf(entry.key) ?? 0, this.#removed?.get(entry.key) ?? 0);
    if (entry.revision > known) sink.put(entry);
  }

  async #open(from: number): Promise<void> {
    const watch = openWatch(this.#options.store, DIRECTORY_PREFIX, from, (batch) => this.#apply(batch));
    this.#watch = watch;
    await watch.opened;
    this.#stop.signal.throwIfAborted();
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
    metrics.directoryApplied(this.#applied);
    if (!this.#filled) return;
    sink.settled();
    this.#wake('fresh');
  }

  /** Without traffic nobody asks for `head`, and a replica that was cut off would not know it. */
  async #pulse(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.fresh().catch(() => undefined);
      await this.#options.clock.sleep(PULSE_MS, this.#stop.signal);
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
      metrics.directoryProved(verdict);
    }
  }

  /**
   * One round of the proof. `unknown`: the history went away meanwhile, or the directory is being filled.
   * @throws StoreUnavailable
   */
  async prove(): Promise<'equal' | 'different' | 'unknown'> {
    for (const group of this.#options.groups) {
      if (!this.#filled) return 'unknown';
      const revision = this.#applied;
      const mine = digestOf(this.#options.sink.held(group));
      const stored = await this.#storedDigest(group, revision);
      if (stored === 'compacted') return 'unknown';
      if (stored.sum !== mine.sum || stored.count !== mine.count) {
        this.#options.log.error({ group, revision, mine, stored }, 'the directory differs from the store');
        this.#forget('it differs from the store');
        return 'different';
      }
    }
    return 'equal';
  }

  async #storedDigest(prefix: string, revision: number): Promise<Digest | 'compacted'> {
    const held: (readonly [string, number])[] = [];
    let after: string | undefined;
    do {
      const request = { prefix, limit: PAGE_ENTRIES_MAX, keysOnly: true, ...(after !== undefined && { after }) };
      const page = await this.#options.store.listAt(request, revision);
      if (page === 'compacted') return page;
      for (const entry of page.entries) held.push([entry.key, entry.revision]);
      after = page.next;
      await new Promise((resolve) => setImmediate(resolve));
    } while (after !== undefined);
    return digestOf(held);
  }
}

/** `head` never goes back, and the same revision always bears the same mark, within one history. */
function isAnotherHistory(head: Head, before: Head): boolean {
  if (head.revision < before.revision) return true;
  return head.revision === before.revision && head.mark !== before.mark;
}
