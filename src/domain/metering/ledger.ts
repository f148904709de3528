import type { Log } from '../../log.ts';
import { ABSENT, type Change, type Expectation, type Store } from '../../store/port.ts';
import { monthOf } from '../../time/utc-days.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { ledgerSchema, type LedgerRecord } from '../records/metering-records.ts';

export interface LedgerEntry {
  readonly accountId: string;
  readonly record: LedgerRecord;
}

export interface LedgerDeps {
  readonly store: Pick<Store, 'get' | 'commit'>;
  readonly log: Log;
  /** The fence of the leader's term: every commit expects it (M4). */
  readonly fence: readonly Expectation[];
}

/** How many ledger records one commit creates at most. */
export const LEDGER_ENTRIES_PER_COMMIT = 50;

const keyOf = ({ accountId, record }: LedgerEntry): string =>
  KEYS.ledger(monthOf(record.day), accountId, record.day.slice(-2));

/**
 * M2: creates the ledger records that do not exist yet. An existing record stays as it is: another run, or another
 * leader, wrote it. A different result is logged as an error.
 * @param entries at most `LEDGER_ENTRIES_PER_COMMIT`
 * @returns `conflict` where another process meters the same night now, or leads: the caller tries again
 * @throws StoreUnavailable; then the records may be there; BadRecord where an existing one cannot be read
 */
export async function recordNight(deps: LedgerDeps, entries: readonly LedgerEntry[]): Promise<'recorded' | 'conflict'> {
  if (await create(deps, entries)) return 'recorded';
  const found = await Promise.all(entries.map((entry) => deps.store.get(keyOf(entry))));
  const missing = entries.filter((entry, i) => {
    const before = found[i];
    if (before) compare(deps.log, entry, parseRecord(ledgerSchema, before).record);
    return !before;
  });
  return (await create(deps, missing)) ? 'recorded' : 'conflict';
}

async function create({ store, fence }: LedgerDeps, entries: readonly LedgerEntry[]): Promise<boolean> {
  const [first, ...others] = entries.map((entry) => ({ key: keyOf(entry), revision: ABSENT }));
  if (!first) return true;
  const change: Change = {
    expect: [first, ...others, ...fence],
    write: entries.map((entry) => put(keyOf(entry), entry.record)),
    quiet: true,
  };
  return (await store.commit(change)).outcome === 'committed';
}

/** Two runs over one night must count the same; otherwise something is wrong with what they read. */
function compare(log: Log, { accountId, record }: LedgerEntry, before: LedgerRecord): void {
  if (before.digest === record.digest && before.activeDaemons === record.activeDaemons) return;
  const { day, activeDaemons } = record;
  log.error(
    { accountId, day, recorded: before.activeDaemons, computed: activeDaemons },
    'a night that is recorded already was counted differently now; the record stays',
  );
}
