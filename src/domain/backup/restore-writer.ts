import {
  type Change,
  expectAbsent,
  type Expectation,
  type Key,
  type Store,
  isFull,
  StoreUnavailable,
  type Write,
} from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { hasRoomFor } from '../fullness/write-class.ts';

/** The restore cannot go on, or must not begin. The message is for the operator. */
export class RestoreFault extends Error {
  override readonly name = 'RestoreFault';
}

type Put = Extract<Write, { put: string }>;

const PUTS_PER_COMMIT_MAX = 100;
/** Less than the 1.5 MiB that etcd takes in one request. */
const BYTES_PER_COMMIT_MAX = 1024 * 1024;
const UNDER_WAY_MAX = 4;
const ATTEMPTS_MAX = 6;
const PAUSE_MS = 1000;

/**
 * Creates records, in commits that expect their keys to be absent and the restore to be still this one. After a lost
 * answer the same commit is sent again: it cannot take effect twice, and its first key tells whether it did.
 */
export class RestoreWriter {
  /** The newest revision that anything was written at. */
  revision = 0;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #fence: Expectation;
  #batch: Put[] = [];
  #bytes = 0;
  readonly #underWay = new Set<Promise<void>>();

  constructor(store: Store, clock: Clock, fence: Expectation) {
    this.#store = store;
    this.#clock = clock;
    this.#fence = fence;
  }

  /**
   * Adds a record; it is in the store after `flush`.
   * @throws RestoreFault; StoreUnavailable, also for earlier records
   */
  async put(key: Key, value: string): Promise<void> {
    const bytes = key.length + Buffer.byteLength(value);
    if (this.#batch.length === PUTS_PER_COMMIT_MAX || this.#bytes + bytes > BYTES_PER_COMMIT_MAX) await this.#send();
    this.#batch.push({ put: key, value });
    this.#bytes += bytes;
  }

  /** Resolves when all records are in the store. @throws RestoreFault; StoreUnavailable */
  async flush(): Promise<void> {
    await this.#send();
    await Promise.all(this.#underWay);
  }

  /** Waits until no commit is under way, whether they succeed or fail. Never throws. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  async #send(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#bytes = 0;
    if (this.#underWay.size >= UNDER_WAY_MAX) await Promise.race(this.#underWay);
    if (batch.length === 0) return;
    const sent = this.#commit(batch).then((revision) => {
      this.revision = Math.max(this.revision, revision);
      // A failed commit stays in the set, so that the next wait throws its error.
      this.#underWay.delete(sent);
    });
    sent.catch(() => undefined);
    this.#underWay.add(sent);
  }

  async #commit(batch: readonly Put[]): Promise<number> {
    const [first] = batch;
    if (!first) return 0;
    const fullness = this.#store.fullness();
    if (!hasRoomFor('upkeep', fullness)) {
      throw new RestoreFault(
        `The store is ${Math.floor(fullness * 100)} % full, too small for this backup: empty it, give it more room, and restore again.`,
      );
    }
    const absent = batch.map((one) => expectAbsent(one.put));
    return await commitOnce(this.#store, this.#clock, { expect: [this.#fence, ...absent], write: batch }, async () => {
      return (await this.#store.get(first.put))?.revision;
    });
  }
}

/**
 * Commits a change that cannot take effect twice, and repeats it after a lost answer.
 * @param landed returns the revision at which the change took effect; undefined where it did not
 * @returns the revision at which the change took effect
 * @throws RestoreFault where something else has written; StoreUnavailable when the store is full or after 6 attempts
 */
export async function commitOnce(
  store: Store,
  clock: Clock,
  change: Change,
  landed: () => Promise<number | undefined>,
): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const result = await store.commit(change);
      if (result.outcome === 'committed') return result.revision;
      const revision = attempt === 1 ? undefined : await landed();
      if (revision !== undefined) return revision;
      throw new RestoreFault(
        'Something else writes to the store: stop every Muster on it, empty it, and restore again.',
      );
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || isFull(error) || attempt === ATTEMPTS_MAX) throw error;
      await clock.sleep(PAUSE_MS);
    }
  }
}
