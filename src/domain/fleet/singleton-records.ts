import type { Entry } from '../../store/port.ts';
import { parseRecord, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { Declared } from '../records/registry.ts';
import type { ActiveKeyRecord } from '../records/replica-records.ts';
import type { NewcomerRecord } from '../records/user-records.ts';
import type { DayRecord } from '../records/metering-records.ts';

const KINDS: ReadonlyMap<string, Declared> = new Map<string, Declared>([
  [KEYS.activeKey(), KEYS.activeKey],
  [KEYS.day(), KEYS.day],
  [KEYS.newcomer(), KEYS.newcomer],
]);

/** Nearly all keys of the range are longer: a start asks for each of a million. */
const LONGEST = Math.max(...Array.from(KINDS.keys(), (key) => key.length));

/** The records of the cached range that belong to no account or user, one of each. Nobody is told of their changes. */
export class SingletonRecords {
  readonly #records = new Map<string, Versioned<unknown>>();

  get activeKey(): Versioned<ActiveKeyRecord> | undefined {
    return this.#records.get(KEYS.activeKey()) as Versioned<ActiveKeyRecord> | undefined;
  }

  get day(): Versioned<DayRecord> | undefined {
    return this.#records.get(KEYS.day()) as Versioned<DayRecord> | undefined;
  }

  get newcomer(): Versioned<NewcomerRecord> | undefined {
    return this.#records.get(KEYS.newcomer()) as Versioned<NewcomerRecord> | undefined;
  }

  knows(key: string): boolean {
    return key.length <= LONGEST && KINDS.has(key);
  }

  /** @throws BadRecord, and then holds what it held before */
  put(entry: Entry): void {
    const kind = KINDS.get(entry.key);
    if (kind) this.#records.set(entry.key, parseRecord(kind, entry));
  }

  drop(key: string): void {
    this.#records.delete(key);
  }

  clear(): void {
    this.#records.clear();
  }

  *held(): Iterable<readonly [key: string, revision: number]> {
    for (const { key, revision } of this.#records.values()) yield [key, revision];
  }

  revisionOf(key: string): number | undefined {
    return this.#records.get(key)?.revision;
  }
}
