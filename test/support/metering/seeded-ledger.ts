import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { LedgerRecord } from '../../../src/domain/records/metering-records.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { COMMIT_OPERATIONS_MAX, type Put, type Store } from '../../../src/store/port.ts';

export type SeededNight = Pick<LedgerRecord, 'day' | 'activeDaemons'> & {
  readonly [Field in 'price' | 'currency' | 'late']?: LedgerRecord[Field];
};

/** A ledger record as metering writes it. */
export function ledgerNight(accountId: string, night: SeededNight): Put {
  const computedAt = Date.parse(`${night.day}T00:05:00.000Z`) + 86_400_000;
  const digest = `d${night.activeDaemons}`;
  const record: LedgerRecord = { price: '1.00', currency: 'EUR', late: false, digest, computedAt, ...night };
  return put(KEYS.ledger(night.day.slice(0, 7), accountId, night.day.slice(8)), record);
}

/** Writes these records, in as many commits as it takes. */
export async function seed(store: Store, writes: readonly Put[]): Promise<void> {
  const size = COMMIT_OPERATIONS_MAX - 1;
  for (let start = 0; start < writes.length; start += size) {
    const write = writes.slice(start, start + size);
    const [one] = write;
    if (!one) return;
    const revision = (await store.get(one.put))?.revision ?? 0;
    const result = await store.commit({ expect: [expectRevision(one.put, revision)], write });
    if (result.outcome === 'conflict') throw new Error('somebody else writes what is seeded');
  }
}
