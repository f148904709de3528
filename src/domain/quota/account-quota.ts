import { LIMITS } from '../limits.ts';
import type { AccountRecord, StoredRecord } from '../records/account-records.ts';

/*
 * A16: what an account's own keys and people write is bounded by a quota, so that one account cannot fill the store of
 * all. The leader counts (stored-bytes.ts); a change is judged by what memory holds of that count. It is seconds old,
 * so an account goes over its quota by what it writes in these seconds (docs/adr/0059-a-quota-for-each-account.md).
 */

export const MIB = 1024 * 1024;

/** The least and the most that a count may differ from what is stored before the leader writes it anew. */
const STEP_BYTES = { least: 1024, most: MIB };

/** An account in memory, as far as its quota is concerned. */
export interface QuotaAccount {
  readonly id: string;
  readonly record: Pick<AccountRecord, 'quotaMb'>;
  stored(): { readonly record: StoredRecord } | undefined;
}

export interface QuotaDeps {
  readonly fleet: { readonly memory: { account(accountId: string): QuotaAccount | undefined } };
  /** The quota of an account without one of its own, in MiB (`MUSTER_ACCOUNT_QUOTA_MB`); 0 is none. */
  readonly accountQuotaMb: number;
}

/** The quota of an account in bytes; undefined where it has none. */
export function quotaBytesOf({ quotaMb }: Pick<AccountRecord, 'quotaMb'>, accountQuotaMb: number): number | undefined {
  const mb = quotaMb ?? accountQuotaMb;
  return mb === 0 ? undefined : mb * MIB;
}

/** The bytes that an account stores of its own, as they were last counted; 0 while that is little, or not counted. */
export const storedBytesOf = (stored: Pick<StoredRecord, 'audit' | 'records'> | undefined): number =>
  stored === undefined ? 0 : stored.audit + stored.records;

/** The bytes that an account stores, against its quota. */
export interface AccountStorage {
  readonly storedBytes: number;
  /** In MiB; 0 is none. */
  readonly quotaMb: number;
}

/** How much the bytes of an account must change before they are written anew. */
export const stepBytesOf = (quotaBytes: number | undefined): number =>
  Math.min(STEP_BYTES.most, Math.max(STEP_BYTES.least, (quotaBytes ?? Number.POSITIVE_INFINITY) / 1024));

/** Whether an account with these bytes is near its quota: its people are warned from here on. */
export const isNearQuota = (bytes: number, quotaBytes: number): boolean => bytes >= quotaBytes * LIMITS.quotaWarnedFrom;
