import type { AppEntry } from '../fleet/reader.ts';
import { lastSeenAt } from '../fleet/reader.ts';
import { expiresSoon, isExpiredKey } from '../key-validity/key-expiry.ts';
import { LIMITS } from '../limits.ts';
import type { AuditRecord } from '../records/audit-records.ts';
import type { ToldRecord } from '../records/account-records.ts';
import { isSilent } from '../rollouts/rollout.ts';
import type { WalkedAccount } from '../rollouts/rollout-totals.ts';
import { isNearQuota, quotaBytesOf, storedBytesOf } from '../quota/account-quota.ts';
import type { MutationAction } from '../mutation/actions.ts';

/*
 * Compares what is true of an account (these apps are silent, this revision is applied everywhere) with what was told.
 * Each function below takes one part of the record and gives it anew, with what is to be told of the difference.
 */

/** A transition, as its entry in the audit tells it. */
interface Transition {
  readonly action: MutationAction;
  readonly appId?: string;
  readonly detail: AuditRecord['detail'];
}

/** An account as a round finds it. */
export interface FoundAccount extends WalkedAccount {
  /** Some device has had the time to apply the revision, polls, and has not. */
  readonly isStuck: boolean;
  /** Tells whether a contact that is missing is the daemon's fault, as far as this replica knows. */
  readonly judgesSilence: boolean;
  /** Tells whether this round looks at codes, for which records of apps are read. */
  readonly judgesCodes: boolean;
  readonly accountQuotaMb: number;
}

/** The writes of a commit for an account. */
export interface Difference {
  readonly record: ToldRecord;
  readonly told: readonly Transition[];
}

interface Part {
  readonly record: Partial<ToldRecord>;
  readonly told: readonly Transition[];
  /** Tells whether the record has changed; it has wherever there is something to tell. */
  readonly isChanged?: boolean;
}

/**
 * Compares an account with what was told of it.
 * @param before undefined where nothing was told of it yet
 * @param isFirst what is so already is noted, and told by no entry
 * @returns undefined where nothing has changed
 */
export function differenceOf(
  before: ToldRecord | undefined,
  found: FoundAccount,
  isFirst: boolean,
): Difference | undefined {
  const { disabled, enabledAt, ...rest } = before ?? {};
  const isDisabled = found.account.record.disabled;
  // Its daemons are refused, so all fall silent, and nobody can act: what is still true is told once it is enabled.
  if (!isFirst && isDisabled) return disabled ? undefined : { record: { ...rest, disabled: true }, told: [] };
  if (disabled && !isDisabled) return { record: { ...rest, enabledAt: found.facts.now }, told: [] };
  const isResting = enabledAt !== undefined && found.facts.now < enabledAt + found.facts.staleAfterMs;
  const parts: readonly Part[] = [
    silenceOf(rest, { ...found, judgesSilence: found.judgesSilence && !isResting }),
    ...(found.judgesCodes ? [codesOf(rest, found)] : []),
    keysOf(rest, found),
    ...rolloutsOf(rest, found),
    quotaOf(rest, found),
  ];
  const isChanged = parts.some(({ told, isChanged = told.length > 0 }) => isChanged);
  if (!isChanged && !(isDisabled && !disabled)) return undefined;
  const marks = { disabled: isDisabled, ...(isResting && { enabledAt }) };
  const fields = [rest, ...parts.map((part) => part.record), marks].flatMap((some) => Object.entries(some));
  return { record: recordOf(fields), told: isFirst ? [] : parts.flatMap(({ told }) => bounded(told)) };
}

/** The record with these fields, of which a later one takes the place of an earlier one, without what holds nothing. */
const recordOf = (fields: readonly (readonly [name: string, value: unknown])[]): ToldRecord =>
  Object.fromEntries(
    [...new Map(fields)].filter(
      ([, value]) => value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0),
    ),
  );

/** More of a kind than these are one entry with their count. */
function bounded(told: readonly Transition[]): readonly Transition[] {
  return [...Map.groupBy(told, ({ action }) => action)].flatMap(([action, some]) => {
    const [first] = some;
    if (!first || some.length <= LIMITS.transitionsToldSinglyMax) return some;
    // The first is the one that ends first.
    const { expiresAt } = first.detail;
    return [{ action, detail: { count: some.length, ...(expiresAt !== undefined && { expiresAt }) } }];
  });
}

const iso = (at: number): string => new Date(at).toISOString();

function silenceOf({ silent = [] }: ToldRecord, { facts, judgesSilence }: FoundAccount): Part {
  const before = new Map(silent);
  const now: [slot: number, since: number][] = [];
  const told: Transition[] = [];
  for (const app of facts.apps) {
    if (app.status !== 'active') continue;
    const since = before.get(app.slot);
    if (since === undefined && !judgesSilence) continue;
    const is = isSilent(app, facts);
    if (is) now.push([app.slot, since ?? seenAt(app, facts)]);
    if (is && since === undefined) {
      told.push({ action: 'app.silent', appId: app.id, detail: { lastSeenAt: iso(seenAt(app, facts)) } });
    } else if (!is && since !== undefined) {
      const silentSeconds = Math.max(0, Math.round((seenAt(app, facts) - since) / 1000));
      told.push({ action: 'app.back', appId: app.id, detail: { silentSince: iso(since), silentSeconds } });
    }
  }
  // One that was revoked or deleted is in the list no longer.
  return { record: { silent: now }, told, isChanged: told.length > 0 || now.length !== silent.length };
}

/** The last contact; an active app without any is as old as its status. */
const seenAt = ({ record }: AppEntry, { seen }: FoundAccount['facts']): number =>
  lastSeenAt(record, seen) ?? record.statusAt;

function codesOf({ codesTo = 0 }: ToldRecord, { facts: { apps, now } }: FoundAccount): Part {
  const ending: { readonly appId: string; readonly expiresAt: number }[] = [];
  for (const app of apps) {
    if (!app.hasOpenCodes) continue;
    for (const { expiresAt } of app.record.codes) {
      const isSoon = expiresAt > now && expiresAt <= now + LIMITS.codeExpiringMs;
      if (isSoon && expiresAt > codesTo) ending.push({ appId: app.id, expiresAt });
    }
  }
  ending.sort((one, other) => one.expiresAt - other.expiresAt);
  const told = ending.map(({ appId, expiresAt }): Transition => {
    return { action: 'code.expiring', appId, detail: { expiresAt: iso(expiresAt) } };
  });
  const last = ending.at(-1);
  return { record: last ? { codesTo: last.expiresAt } : {}, told };
}

function keysOf({ expiring = [], expired = [] }: ToldRecord, { account, facts: { now } }: FoundAccount): Part {
  const [soon, over] = [new Set<string>(), new Set<string>()];
  const told: (Transition & { readonly at: number })[] = [];
  for (const { id: keyId, record } of account.apiKeys()) {
    const at = record.expiring?.expiresAt;
    if (at === undefined) continue;
    const detail = { keyId, expiresAt: iso(at) };
    if (isExpiredKey(record, now)) {
      over.add(keyId);
      if (!expired.includes(keyId)) told.push({ action: 'key.expired', detail, at });
    } else if (expiresSoon(record, now)) {
      soon.add(keyId);
      if (!expiring.includes(keyId)) told.push({ action: 'key.expiring', detail, at });
    }
  }
  told.sort((one, other) => one.at - other.at);
  return {
    record: { expiring: [...soon], expired: [...over] },
    told: told.map(({ action, detail }) => ({ action, detail })),
    isChanged: told.length > 0 || soon.size !== expiring.length || over.size !== expired.length,
  };
}

/** A purge has no rollout that is told, nor what a restore put in place of a configuration that was never stored. */
function rolloutsOf(before: ToldRecord, { account, rollout, isStuck }: FoundAccount): readonly Part[] {
  if (!rollout || account.otel()?.record.config === undefined) return [];
  const { revision, devices, applied, failed, pending } = rollout;
  const news = (of: 'completed' | 'failed' | 'stuck', isSo: boolean, counts: Readonly<Record<string, number>>): Part =>
    isSo && (before[of] ?? 0) < revision
      ? { record: { [of]: revision }, told: [{ action: `rollout.${of}`, detail: { revision, ...counts } }] }
      : NOTHING;
  return [
    news('failed', failed > 0, { failed, devices }),
    news('stuck', isStuck, { pending, devices }),
    news('completed', devices > 0 && applied === devices, { devices }),
  ];
}

const NOTHING: Part = { record: {}, told: [] };

function quotaOf({ nearQuota }: ToldRecord, { account, accountQuotaMb }: FoundAccount): Part {
  const storedBytes = storedBytesOf(account.stored()?.record);
  const quotaBytes = quotaBytesOf(account.record, accountQuotaMb);
  if (quotaBytes !== undefined && !nearQuota && isNearQuota(storedBytes, quotaBytes)) {
    const told: Transition = { action: 'quota.near', detail: { storedBytes, quotaBytes } };
    return { record: { nearQuota: true }, told: [told] };
  }
  const isOver = quotaBytes === undefined || storedBytes < quotaBytes * LIMITS.quotaWarnedAgainBelow;
  return nearQuota && isOver ? { record: { nearQuota: undefined }, told: [], isChanged: true } : NOTHING;
}
