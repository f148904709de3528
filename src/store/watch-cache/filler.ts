import { setImmediate as nextTurn } from 'node:timers/promises';
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
import { instantOf } from '../head-value.ts';
import { openWatch, type OpenWatch } from '../watch-handle.ts';
import type { WatchCacheMetrics } from './metrics.ts';
import type { WatchCacheSink } from './sink.ts';

/** A clock that is so far ahead of this one is wrong: its instants do not drag others along (ADR 0008). */
const WRONG_CLOCK_MS = 30_000;

export interface FillerOptions {
  readonly store: Store;
  readonly sink: WatchCacheSink;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: WatchCacheMetrics;
}

/** The filler calls these in the same turn in which the state has changed. */
interface FillerListener {
  /** Memory is filled and has reached `applied`. */
  advanced(): void;
  /** Memory was dropped and will be listed anew. */
  dropped(): void;
}

/** A watch that ends sooner than this has failed, and the next one is opened after a pause. */
const STEADY_MS = 1000;
/** The pauses before a filling or a watch that failed is tried again; the last one is repeated. */
const RETRY_MS = [100, 200, 400, 800, 1600] as const;
const RETRY_MS_MAX = 3000;

/**
 * Fills memory with one listing of the cached range and feeds it by one watch, until it is stopped. It also knows how
 * far memory has come, and to which history of the store that belongs.
 */
export class Filler {
  readonly #options: FillerOptions;
  readonly #listener: FillerListener;
  readonly #stop: AbortSignal;
  #known: Head = NO_HEAD;
  #newestInstant = 0;
  #generation = 0;
  #applied = 0;
  #filled = false;
  #listed = 0;
  /**
   * The revisions of the keys that the watch changed or removed while a listing is under way: a page that was read
   * earlier must not bring back what was there before. No page brings a key twice, so only these can be in memory.
   */
  #changed: Map<string, number> | undefined;
  #watch: OpenWatch | undefined;

  constructor(options: FillerOptions, listener: FillerListener, stop: AbortSignal) {
    this.#options = options;
    this.#listener = listener;
    this.#stop = stop;
  }

  /**
   * The last `head` that the watch or a listing brought; its epoch id tells this store's history from another one's.
   */
  get known(): Head {
    return this.#known;
  }

  /** The newest instant that a `head` has told, also of a store that was there before. */
  get newestInstant(): number {
    return this.#newestInstant;
  }

  noteInstant({ epochId }: Head): void {
    const instant = instantOf(epochId);
    if (instant <= this.#options.clock.now() + WRONG_CLOCK_MS) {
      this.#newestInstant = Math.max(this.#newestInstant, instant);
    }
  }

  /** Counts how often memory was dropped: a read of `head` that began before says nothing about what is there now. */
  get generation(): number {
    return this.#generation;
  }

  /** The store revision that memory has reached; 0 while it is being filled. */
  get applied(): number {
    return this.#applied;
  }

  get filled(): boolean {
    return this.#filled;
  }

  /** The newest revision that the listing met: memory is of one revision once `applied` has reached it. */
  get listed(): number {
    return this.#listed;
  }

  /** Keeps memory filled and fed. Resolves once the signal has aborted and the watch has ended; never rejects. */
  async follow(): Promise<void> {
    const { clock, log, metrics } = this.#options;
    let failures = 0;
    while (!this.#stop.aborted) {
      try {
        const resumes = this.#filled && (await this.#isSameHistory());
        const watch = resumes ? await this.#open(this.#applied + 1) : await this.#fill();
        const openSince = clock.monotonic();
        const reason = await watch.ended;
        metrics.cacheWatchEnded(reason);
        if (reason === 'compacted') this.drop('the history since the last change is compacted');
        if (reason === 'disconnected' && clock.monotonic() - openSince < STEADY_MS) {
          throw new StoreUnavailable('unreachable', 'The watch ended soon after it was open.');
        }
        failures = 0;
      } catch (error) {
        if (this.#stop.aborted) return;
        const pauseMs = RETRY_MS[failures] ?? RETRY_MS_MAX;
        failures += 1;
        log.warn({ err: error, failures }, 'the watch cache could not follow the store, will retry');
        await clock.sleep(pauseMs, this.#stop);
      } finally {
        this.#watch?.close();
      }
    }
  }

  /** Drops what memory holds, so that `follow` lists it anew. Does nothing while memory is not filled. */
  drop(why: string): void {
    if (!this.#filled) return;
    this.#generation += 1;
    this.#options.log.warn({ why }, 'the watch cache is listed anew');
    this.#options.metrics.cacheRelisted();
    this.#filled = false;
    this.#known = NO_HEAD;
    this.#applied = 0;
    this.#watch?.close();
    this.#options.sink.clear();
    this.#listener.dropped();
  }

  /** Ends the watch at hand. Unless the filler is being stopped, `follow` opens another one. */
  closeWatch(): void {
    this.#watch?.close();
  }

  /** Called before a watch is opened again. @returns whether the content of memory is part of this store's history */
  async #isSameHistory(): Promise<boolean> {
    const then = await this.#options.store.headAt(this.#applied);
    if (typeof then === 'object' && isSameHead(then, this.#known)) return true;
    this.drop(then === 'compacted' ? 'the history is compacted' : 'the store was restored or replaced');
    return false;
  }

  /** Watches first and then lists unpinned: the newest revision of a key wins, and what was removed stays removed. */
  async #fill(): Promise<OpenWatch> {
    const { store, sink, log, clock } = this.#options;
    const startedAt = clock.monotonic();
    sink.clear();
    this.#applied = 0;
    // One page gives the store's revision and the `head` at that revision: no other head may pass for the one before
    // the watch.
    const start = await store.list({ prefix: HEAD_KEY, limit: 1 });
    const [since, head] = [start.revision, headOf(start)];
    this.#know(head);
    this.#changed = new Map();
    const watch = await this.#open(since + 1);
    this.#listed = await this.#listAll(watch);
    const then = await store.headAt(since);
    if (then === 'future' || (then !== 'compacted' && !isSameHead(then, head))) {
      throw new StoreUnavailable(
        'failed',
        'The store was restored or replaced while the watch cache was being filled.',
      );
    }
    this.#changed = undefined;
    this.#applied = Math.max(this.#applied, since);
    this.#filled = true;
    sink.settled();
    this.#listener.advanced();
    log.info({ applied: this.#applied, ms: Math.round(clock.monotonic() - startedAt) }, 'the watch cache is filled');
    return watch;
  }

  /** Reads the next page while one is applied. @returns the newest revision that was listed */
  async #listAll(watch: OpenWatch): Promise<number> {
    let newest = 0;
    let coming: Promise<Page> | undefined = this.#page(undefined);
    while (coming !== undefined) {
      const page: Page = await coming;
      this.#stop.throwIfAborted();
      if (watch.isOver) {
        throw new StoreUnavailable('failed', 'The watch ended while the watch cache was being filled.');
      }
      coming = page.next === undefined ? undefined : this.#page(page.next);
      // The request leaves this process before the page at hand is applied, and requests of others go on.
      await nextTurn();
      for (const entry of page.entries) {
        newest = Math.max(newest, entry.revision);
        this.#applyListed(entry);
      }
      await nextTurn();
    }
    return newest;
  }

  #page(after: string | undefined): Promise<Page> {
    const request = { prefix: CACHED_PREFIX, limit: PAGE_ENTRIES_MAX, after };
    const page = this.#options.store.list(request);
    // It may fail while the page before is applied: the failure is thrown by the `await` that comes later.
    page.catch(() => undefined);
    return page;
  }

  #applyListed(entry: Entry): void {
    const { sink } = this.#options;
    // The watch brings every head after its start; a newer one in a page belongs to changes that are yet to come.
    if (entry.key === HEAD_KEY) return;
    if (entry.revision > (this.#changed?.get(entry.key) ?? 0)) sink.put(entry);
  }

  async #open(from: number): Promise<OpenWatch> {
    const watch = openWatch(this.#options.store, CACHED_PREFIX, from, (batch) => this.#apply(batch));
    this.#watch = watch;
    await watch.opened;
    this.#stop.throwIfAborted();
    return watch;
  }

  #know(head: Head): void {
    this.#known = head;
    this.noteInstant(head);
  }

  #apply(batch: WatchBatch): void {
    const { sink, metrics } = this.#options;
    // Muster never removes `head`: somebody removes the whole store, and these are no changes of it (A14).
    if (batch.changes.some(({ key, value }) => key === HEAD_KEY && value === undefined)) {
      return this.drop('the store was removed');
    }
    for (const change of batch.changes) {
      if (change.key === HEAD_KEY) {
        if (change.value !== undefined) this.#know({ revision: change.revision, epochId: change.value });
      } else if ((sink.revisionOf(change.key) ?? 0) < change.revision) {
        this.#changed?.set(change.key, change.revision);
        if (change.value !== undefined) sink.put({ ...change, value: change.value });
        else sink.remove(change.key);
      }
    }
    this.#applied = Math.max(this.#applied, batch.revision);
    metrics.cacheApplied(this.#applied);
    if (!this.#filled) return;
    sink.settled();
    this.#listener.advanced();
  }
}

const NO_HEAD: Head = { revision: 0, epochId: '' };

function headOf({ entries: [entry] }: Page): Head {
  return entry?.key === HEAD_KEY ? { revision: entry.revision, epochId: entry.value } : NO_HEAD;
}

export const isSameHead = (a: Head, b: Head): boolean => a.revision === b.revision && a.epochId === b.epochId;
