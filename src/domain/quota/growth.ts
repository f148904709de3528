import type { FleetMemory } from '../fleet/memory.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import type { StoredRecord } from '../records/records.ts';
import { isNearQuota, quotaBytesOf, storedBytesOf } from './account-quota.ts';

/** Growth is told from a value that is at least this old. */
const MARK_EVERY_MS = 3 * HOUR_MS;
const MARK_AGE_MIN_MS = HOUR_MS;

/** An account that grows, with its quota. */
export interface GrowingAccount {
  readonly accountId: string;
  readonly storedBytes: number;
  readonly bytesPerSecond: number;
  /** Undefined where it has no quota, and so never reaches one. */
  readonly secondsToQuota: number | undefined;
}

/** What all accounts store of their own. */
export interface QuotaState {
  /** Accounts at 80 % of their quota or more, those at it among them. */
  readonly near: number;
  readonly atQuota: number;
  /** The fastest first. */
  readonly growing: readonly GrowingAccount[];
}

/** The marks of a new count: the last two that are three hours or more apart, so that the older one is 3 to 6 hours old. */
export function marksAfter(
  marks: StoredRecord['marks'],
  { at, bytes }: { readonly at: number; readonly bytes: number },
): StoredRecord['marks'] {
  const newest = marks.at(-1);
  return newest && at - newest[0] < MARK_EVERY_MS ? marks : [...marks, [at, bytes] as [number, number]].slice(-2);
}

/**
 * What the accounts in memory store, as the leader last wrote it.
 * @param now on the wall clock, in milliseconds since 1970
 * @param growingMax how many of those that grow fastest are told
 */
export function quotaState(
  memory: Pick<FleetMemory, 'accounts'>,
  accountQuotaMb: number,
  now: number,
  growingMax: number,
): QuotaState {
  let [near, atQuota] = [0, 0];
  const growing: GrowingAccount[] = [];
  for (const account of memory.accounts()) {
    const stored = account.stored()?.record;
    if (!stored) continue;
    const storedBytes = storedBytesOf(stored);
    const quotaBytes = quotaBytesOf(account.record, accountQuotaMb);
    if (quotaBytes !== undefined && isNearQuota(storedBytes, quotaBytes)) near += 1;
    if (quotaBytes !== undefined && storedBytes >= quotaBytes) atQuota += 1;
    const bytesPerSecond = growthOf(stored, now);
    if (bytesPerSecond <= 0) continue;
    const left = quotaBytes === undefined ? undefined : Math.max(0, quotaBytes - storedBytes) / bytesPerSecond;
    growing.push({ accountId: account.id, storedBytes, bytesPerSecond, secondsToQuota: left });
  }
  growing.sort((one, other) => other.bytesPerSecond - one.bytesPerSecond);
  return { near, atQuota, growing: growing.slice(0, growingMax) };
}

/** Bytes a second since the oldest mark; 0 while that is younger than an hour. */
function growthOf(stored: StoredRecord, now: number): number {
  const [at, bytes] = stored.marks[0] ?? [now, 0];
  return now - at < MARK_AGE_MIN_MS ? 0 : ((storedBytesOf(stored) - bytes) * 1000) / (now - at);
}
