import type * as z from 'zod';
import type { Entry } from '../../store/port.ts';
import { parseRecord, type Versioned } from '../records/codec.ts';
import { daySchema, type DayRecord } from '../records/day-records.ts';
import { KEYS } from '../records/keys.ts';
import { activeKeySchema, type ActiveKeyRecord } from '../records/replica-records.ts';
import { newcomerSchema, type NewcomerRecord } from '../records/user-records.ts';

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  [KEYS.activeKey]: activeKeySchema,
  [KEYS.day]: daySchema,
  [KEYS.newcomer]: newcomerSchema,
};

/** Nearly all keys of the range are longer: a start asks for each of a million. */
const LONGEST = Math.max(...Object.keys(SCHEMAS).map((key) => key.length));

/** The records of the cached range that belong to no account or user, one of each. Nobody is told of their changes. */
export class SingletonRecords {
  readonly #records = new Map<string, Versioned<unknown>>();

  get activeKey(): Versioned<ActiveKeyRecord> | undefined {
    return this.#records.get(KEYS.activeKey) as Versioned<ActiveKeyRecord> | undefined;
  }

  get day(): Versioned<DayRecord> | undefined {
    return this.#records.get(KEYS.day) as Versioned<DayRecord> | undefined;
  }

  get newcomer(): Versioned<NewcomerRecord> | undefined {
    return this.#records.get(KEYS.newcomer) as Versioned<NewcomerRecord> | undefined;
  }

  knows(key: string): boolean {
    return key.length <= LONGEST && key in SCHEMAS;
  }

  /** @throws BadRecord, and then holds what it held before */
  put(entry: Entry): void {
    const schema = SCHEMAS[entry.key];
    if (schema) this.#records.set(entry.key, parseRecord(schema, entry));
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
