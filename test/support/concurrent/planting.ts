import { expectAbsent, expectAsFound, type Change, type Entry, type Store } from '../../../src/store/port.ts';
import { rawKey } from '../store/raw-key.ts';

/* Records that a test puts into the store beside the service. */

/** A record to plant: the text of a value under its key. */
export type Planted = Pick<Entry, 'key' | 'value'>;

/** Fewer than a commit may have, so that a few more expectations find room. */
const RECORDS_PER_COMMIT = 100;

const putting = ({ key, value }: Planted): Change['write'][number] => ({ put: key, value });

/** Plants records under keys that are free. @throws Error where one of them is taken */
export async function plant(store: Store, records: readonly Planted[]): Promise<void> {
  for (let from = 0; from < records.length; from += RECORDS_PER_COMMIT) {
    const piece = records.slice(from, from + RECORDS_PER_COMMIT);
    const [first, ...others] = piece.map(({ key }) => expectAbsent(key));
    if (!first) return;
    const { outcome } = await store.commit({ expect: [first, ...others], write: piece.map(putting) });
    if (outcome !== 'committed') throw new Error('A record that a test plants is there already.');
  }
}

/** Writes one record anew, whatever it was. */
export async function replant(store: Store, key: string, record: object): Promise<void> {
  for (;;) {
    const expect: Change['expect'] = [expectAsFound(key, await store.get(key))];
    const value = JSON.stringify(record);
    if ((await store.commit({ expect, write: [putting({ key: rawKey(key), value })] })).outcome === 'committed') return;
  }
}

/** Every entry of the store under a prefix. */
export async function entriesUnder(store: Store, prefix: string): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (let after: string | undefined; ;) {
    const page = await store.list({ prefix, limit: 1000, after });
    entries.push(...page.entries);
    if (page.next === undefined) return entries;
    after = page.next;
  }
}
