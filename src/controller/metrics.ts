import type { QuotaState } from '../domain/quota/growth.ts';
import type { RolloutCounts } from '../domain/otel-config/rollout.ts';

/* The metrics of the controller: the verbs that its loops call, and the closed sets of their labels. */

/** Every loop of a process, those of `service` included. */
export const LOOP_NAMES = [
  'account-quota',
  'attempts',
  'audit-seal',
  'backup-age',
  'files',
  'format',
  'key-uses',
  'session-uses',
  'mapped-roles',
  'metering',
  'prices',
  'purge',
  'rate-limits',
  'rate-windows',
  'replicas',
  'rewrap',
  'rollout',
  'sweep',
] as const;
export type LoopName = (typeof LOOP_NAMES)[number];

export const LOOP_RESULTS = ['ok', 'failed'] as const;

export interface LoopMetrics {
  /** @param seconds that the round took */
  loopEnded(loop: LoopName, result: (typeof LOOP_RESULTS)[number], seconds: number): void;
}

/** Why a leadership ends: the process stops, or the lease of the leader key is lost. */
export const TERM_ENDS = ['stopped', 'lost'] as const;

export interface LeaderMetrics {
  leads(leading: boolean): void;
  termEnded(why: (typeof TERM_ENDS)[number]): void;
}

export const COMPACTION_RESULTS = ['done', 'failed'] as const;

export interface PurgeMetrics {
  compacted(result: (typeof COMPACTION_RESULTS)[number]): void;
  /** @param count of purged secrets whose key is not retired; 0 on a replica that leads no longer */
  purgesAwaitKeyRetirement(count: number): void;
  /**
   * @param read called at each scrape: seconds since the oldest purge that the history may still hold, 0 where there is
   *   none; undefined on a replica that leads no longer
   */
  oldestPurgeAge(read: (() => number) | undefined): void;
}

export interface BackupAgeMetrics {
  /**
   * @param timestampSeconds since 1970 of what the last backup has, 0 where there is none; undefined on a replica that
   *   leads no longer
   */
  lastBackup(timestampSeconds: number | undefined): void;
}

export interface SweeperMetrics {
  cleaned(what: string, count: number): void;
}

export interface AuditSealMetrics {
  auditSealed(entries: number): void;
}

export interface RewrapMetrics {
  rewrapped(count: number): void;
}

/** The states of a device towards the current configuration. */
export const ROLLOUT_STATES = [
  'applied',
  'failed',
  'pending',
  'stale',
] as const satisfies readonly (keyof RolloutCounts)[];

export interface RolloutMetrics {
  /** @param counts devices of all accounts by state; undefined on a replica that counts them no longer */
  rolloutCounted(counts: RolloutCounts | undefined): void;
}

/** What the leader knows of limited accounts, over all replicas. */
export interface CountedRateLimits {
  /** The accounts with series of their own, with the requests refused in the last 60 s. */
  readonly top: readonly { readonly accountId: string; readonly fill: number; readonly refused: number }[];
  /** Accounts that were refused in the last 60 s. */
  readonly limited: number;
  /** How full the windows are that are a quarter full or more, 0 to 1. */
  readonly fills: readonly number[];
}

export interface RateLimitMetrics {
  /** @param limits undefined on a replica that leads no longer */
  rateLimitsCounted(limits: CountedRateLimits | undefined): void;
}

export interface AccountQuotaMetrics {
  /** @param state undefined on a replica that leads no longer */
  quotasCounted(state: QuotaState | undefined): void;
}

export interface MeteringMetrics {
  /** A night is recorded for every account. `endedAt` is its midnight in seconds since 1970, `seconds` its duration. */
  nightMetered(night: { readonly late: boolean; readonly endedAt: number; readonly seconds: number }): void;
  /** @param endedAt the midnight that ended the last night that is metered, in seconds since 1970 */
  meteredThrough(endedAt: number): void;
}
