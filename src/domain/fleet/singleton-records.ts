import type { Entry } from '../../store/port.ts';
import { daySchema, type DayRecord } from '../records/metering-records.ts';
import { KEYS, parseRecord, type Versioned } from '../records/records.ts';
import { writingKeySchema, type WritingKeyRecord } from '../records/replica-records.ts';

/** The records of the directory that belong to no account, one of each. */
export class LoneMemory {
  #writingKey: Versioned<WritingKeyRecord> | undefined;
  #day: Versioned<DayRecord> | undefined;

  get writingKey(): Versioned<WritingKeyRecord> | undefined {
    return this.#writingKey;
  }

  get day(): Versioned<DayRecord> | undefined {
    return this.#day;
  }

  knows(key: string): boolean {
    return key === KEYS.writingKey || key === KEYS.day;
  }

  /** @throws BadRecord, and then holds what it held before */
  put(entry: Entry): void {
    if (entry.key === KEYS.day) this.#day = parseRecord(daySchema, entry);
    else this.#writingKey = parseRecord(writingKeySchema, entry);
  }

  drop(key: string): void {
    if (key === KEYS.day) this.#day = undefined;
    else this.#writingKey = undefined;
  }

  clear(): void {
    this.#writingKey = undefined;
    this.#day = undefined;
  }

  *held(): Iterable<readonly [key: string, revision: number]> {
    if (this.#writingKey) yield [KEYS.writingKey, this.#writingKey.revision];
    if (this.#day) yield [KEYS.day, this.#day.revision];
  }

  revisionOf(key: string): number | undefined {
    return (key === KEYS.day ? this.#day : this.#writingKey)?.revision;
  }
}
