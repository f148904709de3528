import { createHash } from 'node:crypto';
import type { StatusChangeRecord } from '../records/day-records.ts';

/** What is true of an account now, read before its changes of later days are listed. */
export interface AccountNow {
  readonly accountId: string;
  readonly disabled: boolean;
  /** Ids of the apps whose status is `active`, in any order. */
  readonly active: readonly string[];
}

/** What an account and its apps were before their first change after the night, where they changed. */
export interface ChangedSince {
  disabled: boolean | undefined;
  readonly before: Map<string, StatusChangeRecord['before']>;
}

/** What the ledger says of an account and night. */
export interface NightCount {
  readonly activeDaemons: number;
  /** SHA-256, hex, over the sorted app ids, joined by line feeds. */
  readonly digest: string;
}

/**
 * M1: the apps that were active at the end of the day. Who changed on a later day was before that what its first such
 * change says; who did not is what it is now. All apps of an account that was disabled then count for nothing.
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
