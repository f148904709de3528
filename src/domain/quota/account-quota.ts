import type { Room } from '../../store/port.ts';
import { isOwnActor } from '../audit/own-bytes.ts';
import { LIMITS } from '../limits.ts';
import type { AccountRecord, StoredRecord } from '../records/account-records.ts';
import { Busy } from '../refusal.ts';

/*
 * A16: what an account's own keys and people write is bounded by a quota, so that one account cannot fill the store of
 * all. The leader counts (stored-bytes.ts); a change is judged by what memory holds of that count. It is seconds old, so
 * an account goes over its quota by what it writes in these seconds (docs/adr/0059-a-quota-for-each-account.md).
 */

const MIB = 1024 * 1024;

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

/** What an account stores, against its quota. */
export interface AccountStorage {
  readonly storedBytes: number;
  /** In MiB; 0 is none. */
  readonly quotaMb: number;
}

/** What an account stores of its own, as memory has it. */
export function storageOf(
  { fleet, accountQuotaMb }: QuotaDeps,
  accountId: string,
  { quotaMb = accountQuotaMb }: Pick<AccountRecord, 'quotaMb'>,
): AccountStorage {
  return { storedBytes: storedBytesOf(fleet.memory.account(accountId)?.stored()?.record), quotaMb };
}

/** How much the bytes of an account must change before they are written anew. */
export const stepBytesOf = (quotaBytes: number | undefined): number =>
  Math.min(STEP_BYTES.most, Math.max(STEP_BYTES.least, (quotaBytes ?? Number.POSITIVE_INFINITY) / 1024));

/**
 * Refuses the growth of an account that has used up its quota, where the account's own keys and people want it.
 * @throws Busy `quota`
 */
export function refuseAtQuota(
  { fleet, accountQuotaMb }: QuotaDeps,
  { actor, asOperator }: { readonly actor: string; readonly asOperator?: boolean },
  { accountId, room }: { readonly accountId: string; readonly room: Room },
): void {
  if (room !== 'growth' || asOperator === true || !isOwnActor(actor)) return;
  const account = fleet.memory.account(accountId);
  const quotaBytes = account && quotaBytesOf(account.record, accountQuotaMb);
  if (quotaBytes === undefined || storedBytesOf(account?.stored()?.record) < quotaBytes) return;
  throw new Busy(
    'quota',
    `The account has used up its quota of ${quotaBytes / MIB} MiB of records and audit. Revoking, deleting and purging ` +
      'go on; for anything else ask the operator of this service to raise the quota.',
  );
}

/** Whether an account with these bytes is near its quota: its people are warned from here on. */
export const isNearQuota = (bytes: number, quotaBytes: number): boolean => bytes >= quotaBytes * LIMITS.quotaWarnedFrom;
