import type { Entry } from '../../store/port.ts';
import { parseRecord, type Versioned } from '../records/codec.ts';
import { daySchema, type DayRecord } from '../records/day-records.ts';
import { KEYS } from '../records/keys.ts';
import { activeKeySchema, type ActiveKeyRecord } from '../records/replica-records.ts';

/** The records of the cached range that belong to no account, one of each. */
export class SingletonRecords {
  #activeKey: Versioned<ActiveKeyRecord> | undefined;
  #day: Versioned<DayRecord> | undefined;

  get activeKey(): Versioned<ActiveKeyRecord> | undefined {
    return this.#activeKey;
  }

  get day(): Versioned<DayRecord> | undefined {
    return this.#day;
  }

  knows(key: string): boolean {
    return key === KEYS.activeKey || key === KEYS.day;
  }

  /** @throws BadRecord, and then holds what it held before */
  put(entry: Entry): void {
    if (entry.key === KEYS.day) this.#day = parseRecord(daySchema, entry);
    else this.#activeKey = parseRecord(activeKeySchema, entry);
  }

  drop(key: string): void {
    if (key === KEYS.day) this.#day = undefined;
    else this.#activeKey = undefined;
  }

  clear(): void {
    this.#activeKey = undefined;
    this.#day = undefined;
  }

  *held(): Iterable<readonly [key: string, revision: number]> {
    if (this.#activeKey) yield [KEYS.activeKey, this.#activeKey.revision];
    if (this.#day) yield [KEYS.day, this.#day.revision];
  }

  revisionOf(key: string): number | undefined {
    return (key === KEYS.day ? this.#day : this.#activeKey)?.revision;
  }
}
