import { constants, monitorEventLoopDelay, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks';

/** What kept a process from its work since it was last asked. All times are in milliseconds. */
export interface Paused {
  /** The longest delay of its event loop. */
  readonly loopMax: number;
  /** Garbage collection by kind: how often, the longest, and all of them together. */
  readonly collections: Readonly<Record<string, { count: number; max: number; total: number }>>;
}

const RESOLUTION_MS = 5;
const NANOS_PER_MS = 1e6;
const KINDS = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'scavenge'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'mark-compact'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weak callbacks'],
]);

/** Watches the pauses of this process, from when it is made. */
export class Pauses {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #observer: PerformanceObserver;
  #collections: Record<string, { count: number; max: number; total: number }> = {};

  constructor() {
    this.#delay.enable();
    this.#observer = new PerformanceObserver((list) => this.#add(list.getEntries()));
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  /** Tells the pauses since the last call. */
  take(): Paused {
    this.#add(this.#observer.takeRecords());
    const paused = {
      loopMax: Math.max(0, this.#delay.max / NANOS_PER_MS - RESOLUTION_MS),
      collections: this.#collections,
    };
    this.#delay.reset();
    this.#collections = {};
    return paused;
  }

  #add(entries: readonly PerformanceEntry[]): void {
    for (const entry of entries) {
      const { duration, detail } = entry as PerformanceEntry & { readonly detail: { readonly kind: number } };
      const { kind } = detail;
      const all = (this.#collections[KINDS.get(kind) ?? String(kind)] ??= { count: 0, max: 0, total: 0 });
      all.count += 1;
      all.max = Math.max(all.max, duration);
      all.total += duration;
    }
  }
}
