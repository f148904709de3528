import type { Log } from '../../log.ts';
import { pagesOf } from '../../store/pages.ts';
import { expectAsFound, PAGE_ENTRIES_MAX, type Expectation, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { ownBytesIn } from '../audit/own-bytes.ts';
import { chainSchema, OPERATOR_AUDIT, type ChainRecord } from '../records/audit-records.ts';
import { BadRecord, parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { StoredRecord } from '../records/records.ts';
import { isNearQuota, quotaBytesOf, stepBytesOf, storedBytesOf, type QuotaDeps } from './account-quota.ts';
import { countAudit, countRecords } from './count.ts';
import { marksAfter } from './growth.ts';

/** All chains are looked at this often: the retention makes audits smaller. */
const WALK_EVERY_MS = HOUR_MS;
/** Accounts without a count are counted for so long in a round; each is counted whole. */
const COUNTING_MS = 2000;

/** Keeps what each account stores of its own, for one term of one leader. */
export interface StoredBytes {
  /** Takes the head of a chain after new entries were sealed. */
  sealed(accountId: string, chain: ChainRecord): void;
  /**
   * Writes the bytes of the accounts that have changed by a step, and counts those that were never counted.
   * @throws StoreUnavailable; BadRecord. What was not done is done by a later round
   */
  round(signal: AbortSignal): Promise<void>;
}

export interface StoredBytesDeps extends QuotaDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** Creates it for a term. @param fence the expectations of every commit of the term */
export function createStoredBytes(deps: StoredBytesDeps, fence: readonly Expectation[]): StoredBytes {
  const { store, clock, log, fleet } = deps;
  /** By account, the bytes of its own entries, as its chain has them. */
  const counted = new Map<string, number>();
  const uncounted = new Set<string>();
  let walkedAt: number | undefined;

  function sealed(accountId: string, chain: ChainRecord): void {
    if (accountId === OPERATOR_AUDIT) return;
    const bytes = ownBytesIn(chain);
    if (bytes === undefined) uncounted.add(accountId);
    else counted.set(accountId, bytes);
  }

  async function walk(signal: AbortSignal): Promise<void> {
    const startedAt = clock.monotonic();
    const request = { prefix: KEYS.chains, limit: PAGE_ENTRIES_MAX };
    for await (const { entries } of pagesOf(store, request, signal)) {
      for (const entry of entries) {
        const accountId = entry.key.slice(KEYS.chains.length);
        try {
          sealed(accountId, parseRecord(chainSchema, entry).record);
        } catch (error) {
          // The loop that seals tells of it, and goes on without this account.
          if (!(error instanceof BadRecord)) throw error;
        }
      }
    }
    walkedAt = startedAt;
  }

  async function note(accountId: string, audit: number, signal: AbortSignal): Promise<'done' | 'conflict'> {
    const account = fleet.memory.account(accountId);
    if (!account) return 'done';
    const before = account.stored();
    const quotaBytes = quotaBytesOf(account.record, deps.accountQuotaMb);
    const isSame = (bytes: number): boolean =>
      Math.abs(bytes - storedBytesOf(before?.record)) < stepBytesOf(quotaBytes) &&
      (quotaBytes === undefined || bytes >= quotaBytes === storedBytesOf(before?.record) >= quotaBytes);
    if (isSame(audit + (before?.record.records ?? 0))) return 'done';
    const records = await countRecords(store, accountId, signal);
    const [at, bytes] = [clock.now(), audit + records];
    const marks = marksAfter(before?.record.marks ?? [], { at, bytes });
    const record: StoredRecord = { ...before?.record, at, audit, records, marks };
    const key = KEYS.stored(accountId);
    const expect = [expectAsFound(key, before), ...fence] as const;
    const result = await store.commit({ expect, write: [put(key, record)], quiet: true });
    if (result.outcome === 'conflict') return 'conflict';
    if (quotaBytes !== undefined) tell(log, accountId, { before: storedBytesOf(before?.record), bytes, quotaBytes });
    return 'done';
  }

  async function count(signal: AbortSignal): Promise<void> {
    const until = clock.monotonic() + COUNTING_MS;
    for (const accountId of uncounted) {
      if (signal.aborted || clock.monotonic() >= until) return;
      const bytes = await countAudit(store, fence, accountId, signal).catch((error: unknown) => {
        if (!(error instanceof BadRecord)) throw error;
        log.error({ err: error, accountId }, 'what the account stores is not counted; see: muster audit verify');
        return 'broken' as const;
      });
      // The next walk comes back to it.
      if (bytes === 'broken') uncounted.delete(accountId);
      if (typeof bytes !== 'number') continue;
      uncounted.delete(accountId);
      counted.set(accountId, bytes);
    }
  }

  return {
    sealed,
    async round(signal) {
      if (walkedAt === undefined || clock.monotonic() - walkedAt >= WALK_EVERY_MS) await walk(signal);
      await count(signal);
      for (const [accountId, bytes] of counted) {
        if (signal.aborted) return;
        if ((await note(accountId, bytes, signal)) === 'done') counted.delete(accountId);
      }
    },
  };
}

interface Change {
  readonly before: number;
  readonly bytes: number;
  readonly quotaBytes: number;
}

/** Tells the log once when an account comes near its quota, and once when it is there. */
function tell(log: Log, accountId: string, { before, bytes, quotaBytes }: Change): void {
  const told = { accountId, storedBytes: bytes, quotaBytes };
  if (bytes >= quotaBytes && before < quotaBytes) {
    log.warn(told, 'the account has used up its quota: what it creates and changes is refused');
  } else if (isNearQuota(bytes, quotaBytes) && !isNearQuota(before, quotaBytes)) {
    log.warn(told, 'the account is near its quota');
  }
}
