import type { Log } from '../../log.ts';
import { expectUnchanged, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { LIMITS } from '../limits.ts';
import { justCommitted, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { Busy } from '../refusal.ts';
import { withFailure, withoutFailure, type Failures } from './failures.ts';
import { readNames, recordOf, type NameRecord } from './name-records.ts';

/** The milliseconds that an attempt must wait, by the failures at its name; 0 where it may be compared. */
export type Judge = (failures: Failures, now: number) => number;

/** The failures at each name, of the whole installation. */
export interface NameFailures {
  /**
   * Counts an attempt at a name as a failure, in the store, before its password is compared.
   * @returns the milliseconds that it must wait, and then it is not counted; 0 where it may be compared
   * @throws StoreUnavailable; Busy: without the store nobody could be let in either
   */
  count(name: number, judge: Judge): Promise<number>;
  /** Takes back a count, with the next commit. Never throws. */
  takeBack(name: number): void;
}

export interface NameFailuresDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

interface Waiting extends Pick<PromiseWithResolvers<number>, 'resolve' | 'reject'> {
  readonly name: number;
  readonly judge: Judge;
}

const COMMIT_ATTEMPTS_MAX = 8;
/** The wait for the next commit is made of short pauses, as those after a conflict are. */
const PAUSE_MS = 50;

/** The counts that this process shares with nobody, or with other replicas. */
export const createNameFailures = (deps: NameFailuresDeps): NameFailures =>
  deps.store.backend === 'sqlite' ? new OwnCounts(deps) : new SharedCounts(deps);

type Records = Map<number, Versioned<NameRecord>>;

async function read({ store }: NameFailuresDeps, numbers: Iterable<number>): Promise<Records> {
  const each = async (number: number): Promise<readonly [number, Versioned<NameRecord>]> => [
    number,
    readNames(number, await store.get(KEYS.signInNames(number))),
  ];
  return new Map(await Promise.all(Array.from(numbers, each)));
}

/** Writes records together, quietly. @returns whether they were as expected */
async function commit({ store }: NameFailuresDeps, records: Records): Promise<boolean> {
  const [first, ...others] = Array.from(records.values(), expectUnchanged);
  if (!first) return true;
  const write = Array.from(records, ([number, { record }]) => put(KEYS.signInNames(number), record.toRecord()));
  const result = await store.commit({ expect: [first, ...others], write, quiet: true });
  if (result.outcome !== 'committed') return false;
  for (const [number, { key, record }] of records) records.set(number, justCommitted(key, record, result));
  return true;
}

/**
 * On a store that replicas share. An attempt is in the store before its password is compared, so that three replicas
 * compare no more than one does. Those that come within a second share a commit; a name that is slowed down is refused
 * by what this replica saw last, without the store.
 */
class SharedCounts implements NameFailures {
  readonly #deps: NameFailuresDeps;
  /** As this replica saw them last. */
  readonly #seen: Records = new Map();
  /** No more than may wait for a password to be compared (`passwordRoomsPerPlace`): an attempt is one of them here. */
  #waiting: Waiting[] = [];
  /** The counts that are to be taken back, by name. */
  #returned = new Map<number, number>();
  #isRunning = false;
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(deps: NameFailuresDeps) {
    this.#deps = deps;
  }

  async count(name: number, judge: Judge): Promise<number> {
    const seen = this.#seen.get(recordOf(name));
    const waitMs = seen ? judge(seen.record.get(name), this.#deps.clock.now()) : 0;
    if (waitMs > 0) return waitMs;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#waiting.push({ name, judge, resolve, reject });
    void this.#run();
    return await promise;
  }

  takeBack(name: number): void {
    this.#returned.set(name, (this.#returned.get(name) ?? 0) + 1);
    void this.#run();
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#waiting.length > 0 || this.#returned.size > 0) {
      await this.#pause();
      const [waiting, returned] = [this.#waiting, this.#returned];
      this.#waiting = [];
      this.#returned = new Map();
      try {
        await this.#settle(waiting, returned);
      } catch (error) {
        for (const { reject } of waiting) reject(error);
        this.#deps.log.info({ err: error }, 'failed sign-ins could not be counted');
        // Counts that are to be taken back go with the next commit.
        for (const [name, count] of this.#returned) returned.set(name, (returned.get(name) ?? 0) + count);
        this.#returned = returned;
        if (this.#waiting.length === 0) break;
      }
    }
    this.#isRunning = false;
  }

  async #pause(): Promise<void> {
    const { clock } = this.#deps;
    for (let waited = 0; waited < LIMITS.signInCountsEveryMs; waited += PAUSE_MS) {
      if (clock.monotonic() >= this.#nextAt) break;
      await clock.sleep(PAUSE_MS);
    }
    this.#nextAt = clock.monotonic() + LIMITS.signInCountsEveryMs;
  }

  /** @throws StoreUnavailable; Busy */
  async #settle(waiting: readonly Waiting[], returned: ReadonlyMap<number, number>): Promise<void> {
    const numbers = new Set([...waiting.map(({ name }) => name), ...returned.keys()].map(recordOf));
    for (let attempt = 1; attempt <= COMMIT_ATTEMPTS_MAX; attempt += 1) {
      const records = await read(this.#deps, numbers);
      const changed: Records = new Map();
      const change = (name: number, to: (failures: Failures) => Failures): void => {
        const number = recordOf(name);
        const found = records.get(number);
        if (found) changed.set(number, found);
        found?.record.set(name, to(found.record.get(name)));
      };
      for (const [name, count] of returned) {
        for (let one = 0; one < count; one += 1) change(name, withoutFailure);
      }
      const now = this.#deps.clock.now();
      const waits = waiting.map(({ name, judge }) => {
        const found = records.get(recordOf(name));
        const waitMs = found ? judge(found.record.get(name), now) : 0;
        if (waitMs === 0) change(name, (failures) => withFailure(failures, now));
        return waitMs;
      });
      if (!(await commit(this.#deps, changed))) continue;
      for (const [number, found] of records) this.#seen.set(number, changed.get(number) ?? found);
      for (const [index, { resolve }] of waiting.entries()) resolve(waits[index] ?? 0);
      return;
    }
    throw new Busy('conflicts', 'Other replicas counted failed sign-ins at every attempt.');
  }
}

/**
 * On a store that no other process has: what is in memory is all there is, and the store has it for the next start. It
 * is written at most once a second, with an attempt that comes after that.
 */
class OwnCounts implements NameFailures {
  readonly #deps: NameFailuresDeps;
  #records: Promise<Records> | undefined;
  readonly #unwritten = new Set<number>();
  #writing = false;
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(deps: NameFailuresDeps) {
    this.#deps = deps;
  }

  async count(name: number, judge: Judge): Promise<number> {
    const records = await this.#all();
    const now = this.#deps.clock.now();
    const number = recordOf(name);
    const found = records.get(number);
    const waitMs = found ? judge(found.record.get(name), now) : 0;
    if (waitMs > 0 || !found) return waitMs;
    found.record.set(name, withFailure(found.record.get(name), now));
    this.#changed(number);
    return 0;
  }

  takeBack(name: number): void {
    const number = recordOf(name);
    const taken = (records: Records): void => {
      const found = records.get(number);
      found?.record.set(name, withoutFailure(found.record.get(name)));
      this.#changed(number);
    };
    // A caller who asked for them to be read again is told where they cannot be.
    void this.#records?.then(taken, () => undefined);
  }

  /** All records as they were at the start. */
  #all(): Promise<Records> {
    const numbers = Array.from({ length: LIMITS.signInNamesCounted }, (_, name) => recordOf(name));
    this.#records ??= read(this.#deps, new Set(numbers)).catch((error: unknown) => {
      this.#records = undefined;
      throw error;
    });
    return this.#records;
  }

  #changed(number: number): void {
    this.#unwritten.add(number);
    const now = this.#deps.clock.monotonic();
    if (this.#writing || now < this.#nextAt) return;
    this.#nextAt = now + LIMITS.signInCountsEveryMs;
    this.#writing = true;
    void this.#write().finally(() => (this.#writing = false));
  }

  async #write(): Promise<void> {
    const numbers = [...this.#unwritten];
    this.#unwritten.clear();
    try {
      const all = await this.#all();
      const written: Records = new Map();
      for (const number of numbers) {
        const found = all.get(number);
        if (found) written.set(number, found);
      }
      // A write whose answer was lost has happened after all: what the store has is read again.
      if (await commit(this.#deps, written)) for (const [number, one] of written) all.set(number, one);
      else this.#records = undefined;
    } catch (error) {
      for (const number of numbers) this.#unwritten.add(number);
      this.#deps.log.info({ err: error }, 'failed sign-ins could not be written');
    }
  }
}
