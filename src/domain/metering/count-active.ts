import { createHash } from 'node:crypto';
import type { StatusChangeRecord } from '../records/metering-records.ts';

/** An account's state now. It must be read before the account's changes of later days are listed. */
export interface AccountNow {
  readonly accountId: string;
  readonly disabled: boolean;
  /** Ids of the apps whose status is `active`, in any order. */
  readonly active: readonly string[];
}

/** The states of an account and its apps before their first change after the night; only those that changed. */
export interface ChangedSince {
  /** Undefined where the account itself did not change. */
  disabled: boolean | undefined;
  /** The status before, by app id. */
  readonly before: Map<string, StatusChangeRecord['before']>;
}

/** The count that the ledger records of an account and night. */
interface NightCount {
  readonly activeDaemons: number;
  /** SHA-256, hex, over the sorted app ids, joined by line feeds. */
  readonly digest: string;
}

/**
 * M1: counts the apps that were active at the end of the day. An app that changed on a later day had the status that
 * its first such change records as `before`; any other app has its status of now. No app counts of an account that was
 * disabled then.
 */
export function countNight(now: AccountNow, changed: ChangedSince | undefined): NightCount {
  return digestOf(activeThen(now, changed).sort());
}

function activeThen(now: AccountNow, changed: ChangedSince | undefined): string[] {
  if (changed?.disabled ?? now.disabled) return [];
  if (!changed) return [...now.active];
  const unchanged = now.active.filter((appId) => !changed.before.has(appId));
  for (const [appId, before] of changed.before) if (before === 'active') unchanged.push(appId);
  return unchanged;
}

function digestOf(appIds: readonly string[]): NightCount {
  const digest = createHash('sha256').update(appIds.join('\n')).digest('hex');
  return { activeDaemons: appIds.length, digest };
}
