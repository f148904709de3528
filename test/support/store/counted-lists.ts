import type { Entry, Page, PageRequest, Store } from '../../../src/store/port.ts';
import { rawKey } from './raw-key.ts';

/** A store that is read alone, and counts the records that it gives; a read that finds nothing counts as one. */
export interface CountedStore extends Pick<Store, 'get' | 'list'> {
  /** Since it was last asked. */
  read(): number;
}

/** The entries after a key, in the order of keys: as many as are asked for. */
type After = (prefix: string, after: string, limit: number) => readonly Entry[];

export function countedStore(find: (key: string) => Entry | undefined, after: After): CountedStore {
  let count = 0;
  return {
    async get(key) {
      count += 1;
      return find(key);
    },
    async list({ prefix, after: from = prefix, limit, keysOnly = false }: PageRequest): Promise<Page> {
      const found = after(prefix, from > prefix ? from : prefix, limit + 1);
      const entries = found.slice(0, limit).map((entry) => (keysOnly ? { ...entry, value: '' } : entry));
      count += Math.max(1, entries.length);
      const last = entries.at(-1);
      return { entries, revision: Number.MAX_SAFE_INTEGER, ...(found.length > limit && last && { next: last.key }) };
    },
    read() {
      const now = count;
      count = 0;
      return now;
    },
  };
}

/** Such a store of these entries. */
export function storeOf(entries: readonly Entry[]): CountedStore {
  const sorted = entries.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const byKey = new Map(sorted.map((entry) => [String(entry.key), entry]));
  const firstAfter = (key: string): number => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (String(sorted[middle]?.key) > key) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return countedStore(
    (key) => byKey.get(key),
    (prefix, after, limit) => {
      const from = firstAfter(after);
      return sorted.slice(from, from + limit).filter(({ key }) => key.startsWith(prefix));
    },
  );
}

/** An entry of a store, as a read gives it. */
export const entryOf = (key: string, revision: number, record: object): Entry => ({
  key: rawKey(key),
  revision,
  value: JSON.stringify(record),
});
