import type { Log } from '../../log.ts';
import {
  ABSENT,
  committedSnapshot,
  expectAbsent,
  expectUnchanged,
  type Change,
  type Expectation,
  type Put,
  type Store,
} from '../../store/port.ts';
import { monthOf } from '../../time/utc-days.ts';
import type { ReadName } from '../audit/names.ts';
import { generateMarker, type RandomSource } from '../credentials/random-ids.ts';
import { writeClassOf } from '../mutation/actions.ts';
import { auditEntry } from '../mutation/commit.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { LedgerRecord } from '../records/metering-records.ts';

export interface LedgerEntry {
  readonly accountId: string;
  readonly record: LedgerRecord;
}

export interface LedgerDeps {
  readonly store: Pick<Store, 'get' | 'commit'>;
  readonly log: Log;
  readonly random: RandomSource;
  /** Tells the names that the entries of the audit keep. */
  readonly readName: ReadName;
  /** The fence of the leader's term: every commit expects it (M4). */
  readonly fence: readonly Expectation[];
}

/**
 * The ledger records that one commit creates at most, with an entry of the audit for each: the commits of others wait
 * for it.
 */
export const LEDGER_ENTRIES_PER_COMMIT = 20;

const keyOf = ({ accountId, record }: LedgerEntry) => KEYS.ledger(monthOf(record.day), accountId, record.day.slice(-2));

/**
 * M2: creates the ledger records that do not exist yet, and with each that has a daemon the entry of the audit that
 * tells of the night. An existing record stays as it is: another run, or another leader, wrote it. A different result
 * is logged as an error.
 * @param entries at most `LEDGER_ENTRIES_PER_COMMIT`
 * @param earlier of the same night, as the call before returned it: nothing is recorded where a restore took that away
 * @returns the newest record of the entries and of `earlier`; `conflict` where another process meters the same night
 *   now, or leads, or the store was restored: the caller tries again
 * @throws StoreUnavailable; then the records may be there; BadRecord where an existing one cannot be read
 */
export async function recordNight(
  deps: LedgerDeps,
  entries: readonly LedgerEntry[],
  earlier?: Expectation,
): Promise<Expectation | 'conflict'> {
  const created = await create(deps, entries, earlier);
  if (created) return created;
  // From here on the newest record alone is expected: while it is there, so is everything before it.
  if (earlier && (await deps.store.get(earlier.key))?.revision !== earlier.revision) return 'conflict';
  const found = await Promise.all(entries.map((entry) => deps.store.get(keyOf(entry))));
  const missing: LedgerEntry[] = [];
  let newest = earlier;
  for (const [i, entry] of entries.entries()) {
    const before = found[i];
    if (!before) missing.push(entry);
    else {
      compare(deps.log, entry, parseRecord(KEYS.ledger, before).record);
      if (before.revision > (newest?.revision ?? ABSENT)) newest = expectUnchanged(before);
    }
  }
  if (missing.length === 0) return newest ?? 'conflict';
  return (await create(deps, missing, newest)) ?? 'conflict';
}

async function create(
  deps: LedgerDeps,
  entries: readonly LedgerEntry[],
  earlier: Expectation | undefined,
): Promise<Expectation | undefined> {
  const [first, ...others] = entries.map(keyOf);
  if (first === undefined) return undefined;
  const { store, fence } = deps;
  const told = await toldOf(deps, entries);
  const change: Change = {
    expect: [expectAbsent(first), ...others.map(expectAbsent), ...fence, ...(earlier ? [earlier] : [])],
    write: [...entries.map((entry) => put(keyOf(entry), entry.record)), ...told],
    // The entry of a night goes on as long as the night itself.
    writeClass: writeClassOf({ action: 'night.metered' }),
    quiet: true,
  };
  const result = await store.commit(change);
  return result.outcome === 'committed' ? expectUnchanged(committedSnapshot(first, result)) : undefined;
}

/** The entries of the audit: none for an account without a daemon. Their keys are such that nobody has one of them. */
async function toldOf({ random, readName }: LedgerDeps, entries: readonly LedgerEntry[]): Promise<readonly Put[]> {
  const origin = { actor: 'muster', requestId: generateMarker(random) };
  const active = entries.filter(({ record }) => record.activeDaemons > 0);
  return await Promise.all(
    active.map(async ({ accountId, record: { day, activeDaemons, computedAt } }) => {
      const detail = { night: day, active: activeDaemons };
      return await auditEntry(random, origin, { accountId, action: 'night.metered', detail }, computedAt, readName);
    }),
  );
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
