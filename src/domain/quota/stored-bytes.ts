import type { Log } from '../../log.ts';
import { pagesOf } from '../../store/pages.ts';
import { expectAsFound, PAGE_ENTRIES_MAX, type Expectation, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { ownBytesIn } from '../audit/own-bytes.ts';
import { type ChainRecord, OPERATOR_AUDIT } from '../records/audit-records.ts';
import { KEYS } from '../records/keys.ts';
import { BadRecord, parseRecord, put, type Versioned } from '../records/codec.ts';
import type { StoredRecord } from '../records/account-records.ts';
import {
  isNearQuota,
  quotaBytesOf,
  stepBytesOf,
  storedBytesOf,
  type QuotaAccount,
  type QuotaDeps,
} from './account-quota.ts';
import { countAudit, countRecords } from './count.ts';
import { marksAfter } from './growth.ts';

/** All accounts are looked at this often: the retention makes audits smaller, and deletions records. */
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

interface CountedAccount extends QuotaAccount {
  stored(): Versioned<StoredRecord> | undefined;
}

/** The accounts as memory holds them. */
interface CountedMemory {
  readonly whole: boolean;
  account(accountId: string): CountedAccount | undefined;
}

interface StoredBytesDeps extends QuotaDeps {
  readonly fleet: { readonly memory: CountedMemory };
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** Creates it for a term. @param fence the expectations of every commit of the term */
export function createStoredBytes(deps: StoredBytesDeps, fence: readonly Expectation[]): StoredBytes {
  const { store, clock, log, fleet } = deps;
  /** The bytes of each account's own entries, as its chain has them. */
  const counted = new Map<string, number>();
  const uncounted = new Set<string>();
  /** Accounts whose records are to be listed in any case. */
  const relisted = new Set<string>();
  let walkedAt: number | undefined;

  function sealed(accountId: string, chain: ChainRecord): void {
    if (accountId === OPERATOR_AUDIT) return;
    const bytes = ownBytesIn(chain);
    if (bytes === undefined) uncounted.add(accountId);
    else counted.set(accountId, bytes);
  }

  async function walk(signal: AbortSignal): Promise<void> {
    const startedAt = clock.monotonic();
    const request = { prefix: KEYS.chain.under(), limit: PAGE_ENTRIES_MAX };
    for await (const { entries } of pagesOf(store, request, signal)) {
      for (const entry of entries) {
        const accountId = entry.key.slice(KEYS.chain.under().length);
        try {
          sealed(accountId, parseRecord(KEYS.chain, entry).record);
          if (fleet.memory.account(accountId)?.stored()) relisted.add(accountId);
        } catch (error) {
          // The loop that seals tells of it, and goes on without this account.
          if (!(error instanceof BadRecord)) throw error;
        }
      }
    }
    walkedAt = startedAt;
  }

  async function note(accountId: string, audit: number, signal: AbortSignal): Promise<'done' | 'later'> {
    const account = fleet.memory.account(accountId);
    if (!account) return fleet.memory.whole ? 'done' : 'later';
    const stored = account.stored();
    const before = storedBytesOf(stored?.record);
    const quotaBytes = quotaBytesOf(account.record, deps.accountQuotaMb);
    const isSame = (bytes: number): boolean =>
      Math.abs(bytes - before) < stepBytesOf(quotaBytes) &&
      (quotaBytes === undefined || bytes >= quotaBytes === before >= quotaBytes);
    // The records are listed where that may change something: they shrink by deletions, too.
    const isDue = quotaBytes !== undefined && before + stepBytesOf(quotaBytes) >= quotaBytes;
    const guessed = audit + (stored?.record.records ?? 0);
    if (isSame(guessed) && !isDue && !relisted.has(accountId)) return 'done';
    const records = await countRecords(store, accountId, signal);
    relisted.delete(accountId);
    const [at, bytes] = [clock.now(), audit + records];
    if (isSame(bytes)) return 'done';
    const marks = marksAfter(stored?.record, { at, bytes });
    const record: StoredRecord = { ...stored?.record, at, audit, records, marks };
    const key = KEYS.stored(accountId);
    const expect = [expectAsFound(key, stored), ...fence] as const;
    const result = await store.commit({ expect, write: [put(key, record)], quiet: true });
    if (result.outcome === 'conflict') return 'later';
    if (quotaBytes !== undefined) tell(log, accountId, { before, bytes, quotaBytes });
    return 'done';
  }

  /** One account after the other, each whole; one that cannot be counted now goes to the end. */
  async function count(signal: AbortSignal): Promise<void> {
    const until = clock.monotonic() + COUNTING_MS;
    for (const accountId of Array.from(uncounted)) {
      if (signal.aborted || clock.monotonic() >= until) return;
      uncounted.delete(accountId);
      try {
        const bytes = await countAudit(store, fence, accountId, signal);
        if (bytes === undefined) uncounted.add(accountId);
        else counted.set(accountId, bytes);
      } catch (error) {
        if (!(error instanceof BadRecord)) {
          uncounted.add(accountId);
          throw error;
        }
        // The next walk comes back to it.
        log.error({ err: error, accountId }, 'what the account stores is not counted; see: muster audit verify');
      }
    }
  }

  return {
    sealed,
    async round(signal) {
      if (walkedAt === undefined || clock.monotonic() - walkedAt >= WALK_EVERY_MS) await walk(signal);
      for (const [accountId, audit] of counted) {
        if (signal.aborted) return;
        const isDone = (await note(accountId, audit, signal)) === 'done';
        // More may have been sealed meanwhile.
        if (isDone && counted.get(accountId) === audit) counted.delete(accountId);
      }
      await count(signal);
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
