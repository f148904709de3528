import { HOUR_MS } from '../../time/utc-days.ts';
import type { StoredRecord } from '../records/account-records.ts';
import { isNearQuota, quotaBytesOf, storedBytesOf, type QuotaAccount } from './account-quota.ts';

/** Growth is told from a value that is at least this old. */
const MARK_EVERY_MS = 3 * HOUR_MS;
const MARK_AGE_MIN_MS = HOUR_MS;

/** An account that grows. */
interface GrowingAccount {
  readonly accountId: string;
  readonly bytesPerSecond: number;
}

/** An account that grows, and has a quota. */
interface EndingAccount extends GrowingAccount {
  /** Until the quota is used up, at that growth. */
  readonly secondsToQuota: number;
}

/** The bytes that all accounts store of their own. */
export interface QuotaState {
  /** Accounts at 80 % of their quota or more, those at it among them. */
  readonly near: number;
  readonly atQuota: number;
  /** The fastest first. */
  readonly growing: readonly GrowingAccount[];
  /** The accounts whose quota is used up first. */
  readonly ending: readonly EndingAccount[];
}

/**
 * The marks of a new count: the last two that are three hours or more apart, so that the older one is 3 to 6 hours old.
 * After a rest the bytes of before are marked as of three hours ago: what rests does not grow slowly.
 */
export function marksAfter(
  before: StoredRecord | undefined,
  { at, bytes }: { readonly at: number; readonly bytes: number },
): StoredRecord['marks'] {
  // A mark of a clock that was ahead tells nothing.
  const marks = (before?.marks ?? []).filter(([marked]) => marked <= at);
  const newest = marks.at(-1);
  if (!before || !newest) return [[at, bytes]];
  const age = at - newest[0];
  if (age < MARK_EVERY_MS) return marks;
  if (age < 2 * MARK_EVERY_MS) return [newest, [at, bytes]];
  return [
    [at - MARK_EVERY_MS, storedBytesOf(before)],
    [at, bytes],
  ];
}

/**
 * Returns what the accounts in memory store, as the leader last wrote it.
 * @param now on the wall clock, in milliseconds since 1970
 * @param namedMax how many of those that grow fastest are told, and of those that reach their quotas first
 */
export function quotaState(
  memory: { accounts(): Iterable<QuotaAccount> },
  accountQuotaMb: number,
  now: number,
  namedMax: number,
): QuotaState {
  let [near, atQuota] = [0, 0];
  const growing: GrowingAccount[] = [];
  const ending: EndingAccount[] = [];
  for (const account of memory.accounts()) {
    const stored = account.stored()?.record;
    if (!stored) continue;
    const storedBytes = storedBytesOf(stored);
    const quotaBytes = quotaBytesOf(account.record, accountQuotaMb);
    if (quotaBytes !== undefined && isNearQuota(storedBytes, quotaBytes)) near += 1;
    if (quotaBytes !== undefined && storedBytes >= quotaBytes) atQuota += 1;
    const bytesPerSecond = growthOf(stored, now);
    if (bytesPerSecond <= 0) continue;
    growing.push({ accountId: account.id, bytesPerSecond });
    if (quotaBytes === undefined) continue;
    const secondsToQuota = Math.max(0, quotaBytes - storedBytes) / bytesPerSecond;
    ending.push({ accountId: account.id, bytesPerSecond, secondsToQuota });
  }
  growing.sort((one, other) => other.bytesPerSecond - one.bytesPerSecond);
  ending.sort((one, other) => one.secondsToQuota - other.secondsToQuota);
  return { near, atQuota, growing: growing.slice(0, namedMax), ending: ending.slice(0, namedMax) };
}

/** Bytes a second since the oldest mark; 0 while that is younger than an hour. */
function growthOf(stored: StoredRecord, now: number): number {
  const [at, bytes] = stored.marks[0] ?? [now, 0];
  return now - at < MARK_AGE_MIN_MS ? 0 : ((storedBytesOf(stored) - bytes) * 1000) / (now - at);
}
