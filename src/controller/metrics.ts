import { SWEEPS } from '../domain/features.ts';
import type { QuotaState } from '../domain/quota/growth.ts';
import { SECONDS } from '../metrics/instruments/label-values.ts';
import type { Sections } from '../metrics/instruments/sections.ts';

/* The metrics of the controller: the verbs that its loops call, and the closed sets of their labels. */

/** Every loop of a process, those of `service` included. */
const LOOP_NAMES = [
  'account-quota',
  'attempts',
  'audit-index',
  'audit-log',
  'audit-seal',
  'backup-age',
  'files',
  'fleet-history',
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
  'transitions',
] as const;
export type LoopName = (typeof LOOP_NAMES)[number];

const LOOP_RESULTS = ['ok', 'failed'] as const;

export function loopMetrics({ controller }: Sections) {
  const loops = controller.histogram({
    name: 'muster_loop_duration_seconds',
    help: 'Duration of the rounds of the background loops, by loop and result.',
    labels: { loop: LOOP_NAMES, result: LOOP_RESULTS },
    buckets: SECONDS,
    unit: 'seconds',
  });
  return {
    /** @param seconds that the round took */
    loopEnded: (loop: LoopName, result: (typeof LOOP_RESULTS)[number], seconds: number): void =>
      loops.observe({ loop, result }, seconds),
  };
}
export type LoopMetrics = ReturnType<typeof loopMetrics>;

/** Why a leadership ends: the process stops, or the lease of the leader key is lost. */
const TERM_ENDS = ['stopped', 'lost'] as const;

export function leaderMetrics({ controller }: Sections) {
  const leading = controller.gauge({
    name: 'muster_controller_leading',
    help: '1 on the replica whose controller leads.',
    unit: '0 or 1',
  });
  const known = controller.gauge({
    name: 'muster_controller_leader_known',
    help: '1 where the controller leads, or saw within the last seconds that another one does.',
    unit: '0 or 1',
  });
  return {
    leads: (is: boolean): void => leading(Number(is)),
    /** @param is false where the store did not answer, or the own term has just ended */
    leaderKnown: (is: boolean): void => known(Number(is)),
    termEnded: controller.counterOf({
      name: 'muster_controller_terms_total',
      help: 'Terms of leadership that ended, by reason.',
      labels: { why: TERM_ENDS },
      unit: 'terms',
    }),
  };
}
export type LeaderMetrics = ReturnType<typeof leaderMetrics>;

const COMPACTION_RESULTS = ['done', 'failed'] as const;

export function purgeMetrics({ store, keys, keeping }: Sections) {
  const oldest = keeping.seriesCallbackGauge({
    name: 'muster_purge_oldest_age_seconds',
    help: "Time since the oldest purge that the store's history may still hold, 0 where there is none; on the leader alone.",
    unit: 'seconds',
  });
  return {
    compacted: store.counterOf({
      name: 'muster_compactions_total',
      help: 'Compactions of the history, by result.',
      labels: { result: COMPACTION_RESULTS },
      unit: 'compactions',
    }),
    /** It is told undefined on a replica that leads no longer. */
    purgesAwaitKeyRetirement: keys.knownGauge({
      name: 'muster_purges_awaiting_key_retirement',
      help: 'Purged secrets whose ciphertext logs and backups may still hold, until their key is retired; on the leader alone.',
      unit: 'secrets',
    }),
    /** @param read undefined on a replica that leads no longer: 0 is told by nobody who does not know */
    oldestPurgeAge: (read: (() => number) | undefined): void => oldest(read && (() => [[{}, read()]])),
  };
}
export type PurgeMetrics = ReturnType<typeof purgeMetrics>;

export const backupAgeMetrics = ({ keeping }: Sections) => ({
  /** It is told seconds since 1970; undefined on a replica that leads no longer. */
  lastBackup: keeping.knownGauge({
    name: 'muster_backup_last_timestamp_seconds',
    help: 'When the store was as the last backup has it that was sent whole, 0 where there is none; on the leader alone.',
    unit: 'seconds',
  }),
});
export type BackupAgeMetrics = ReturnType<typeof backupAgeMetrics>;

export const sweeperMetrics = ({ controller }: Sections) => ({
  cleaned: controller.counterOf({
    name: 'muster_cleaned_total',
    help: 'Expired records that the clean-up removed, by kind.',
    labels: { what: SWEEPS.map(([what]) => what) },
    unit: 'things',
  }),
});
export type SweeperMetrics = ReturnType<typeof sweeperMetrics>;

export const auditSealMetrics = ({ controller }: Sections) => ({
  auditSealed: controller.counter({
    name: 'muster_audit_sealed_total',
    help: 'Audit entries put into the chain of their account.',
    unit: 'entries',
  }),
});
export type AuditSealMetrics = ReturnType<typeof auditSealMetrics>;

export const rewrapMetrics = ({ keys }: Sections) => ({
  rewrapped: keys.counter({
    name: 'muster_rewrapped_total',
    help: 'Secrets whose data key was wrapped again under the active key.',
    unit: 'secrets',
  }),
});

/** The limited accounts, as the leader knows them over all replicas. */
export interface CountedRateLimits {
  /** The accounts with series of their own, with the requests refused in the last 60 s. */
  readonly top: readonly { readonly accountId: string; readonly fill: number; readonly refused: number }[];
  /** Accounts that were refused in the last 60 s. */
  readonly limited: number;
  /** How full the windows are that are a quarter full or more, 0 to 1. */
  readonly fills: readonly number[];
}

const FILL = [0.25, 0.5, 0.75, 0.9, 0.99, 1];

export function rateLimitMetrics({ rates }: Sections) {
  const limited = rates.knownGauge({
    name: 'muster_rate_limited_accounts',
    help: 'Accounts that any replica refused with 429 in the last minute; on the leader alone.',
    unit: 'accounts',
  });
  const fills = rates.histogram({
    name: 'muster_rate_window_fill_ratio',
    help: 'How full the windows are of the accounts that used a quarter of their requests or more; on the leader alone.',
    buckets: FILL,
    unit: 'ratio',
  });
  // It has no series before something is counted.
  fills.reset();
  const topFill = rates.accountsGauge({
    name: 'muster_rate_limit_top_fill_ratio',
    help: 'How full the windows of the fullest accounts are, below a quarter 0; kept for 5 minutes; on the leader alone.',
    unit: 'ratio',
  });
  const topRefused = rates.accountsGauge({
    name: 'muster_rate_limit_top_refused',
    help: 'Requests of these accounts that any replica refused in the last minute; on the leader alone.',
    unit: 'requests',
  });
  return {
    /** @param counted undefined on a replica that leads no longer */
    rateLimitsCounted(counted: CountedRateLimits | undefined): void {
      limited(counted?.limited);
      fills.reset();
      for (const fill of counted?.fills ?? []) fills.observe(fill);
      const top = counted?.top ?? [];
      topFill(top.map(({ accountId, fill }) => [accountId, fill]));
      topRefused(top.map(({ accountId, refused }) => [accountId, refused]));
    },
  };
}
export type RateLimitMetrics = ReturnType<typeof rateLimitMetrics>;

/** The series of what accounts store against their quotas; the leader alone has them. */
export function accountQuotaMetrics({ quotas }: Sections) {
  const near = quotas.knownGauge({
    name: 'muster_accounts_near_quota',
    help: 'Accounts that store 80 % of their quota or more; on the leader alone.',
    unit: 'accounts',
  });
  const full = quotas.knownGauge({
    name: 'muster_accounts_at_quota',
    help: 'Accounts that have used up their quota: what grows is refused with 502; on the leader alone.',
    unit: 'accounts',
  });
  const growing = quotas.accountsGauge({
    name: 'muster_account_growth_top_bytes_per_second',
    help: 'Growth of what the fastest accounts store, over the last hours; on the leader alone.',
    unit: 'bytes',
  });
  const ending = quotas.accountsGauge({
    name: 'muster_account_quota_left_seconds',
    help: 'Time until the quotas that end first are used up, at the growth of the last hours; on the leader alone.',
    unit: 'seconds',
  });
  return {
    /** @param counted undefined on a replica that leads no longer */
    quotasCounted(counted: QuotaState | undefined): void {
      near(counted?.near);
      full(counted?.atQuota);
      growing((counted?.growing ?? []).map((one) => [one.accountId, one.bytesPerSecond]));
      ending((counted?.ending ?? []).map((one) => [one.accountId, one.secondsToQuota]));
    },
  };
}
export type AccountQuotaMetrics = ReturnType<typeof accountQuotaMetrics>;

const NIGHT_LATE = ['true', 'false'] as const;

export function meteringMetrics({ metering }: Sections) {
  const nights = metering.counterOf({
    name: 'muster_metering_nights_total',
    help: 'Nights metered by this process, by whether it was more than an hour after their midnight.',
    labels: { late: NIGHT_LATE },
    unit: 'nights',
  });
  const nightSeconds = metering.gauge({
    name: 'muster_metering_night_seconds',
    help: 'Duration of the last night that this process metered, its pauses included; 0 before the first.',
    unit: 'seconds',
  });
  return {
    /** A night is recorded for every account. */
    nightMetered(night: { readonly late: boolean; readonly seconds: number }): void {
      nights(night.late ? 'true' : 'false');
      nightSeconds(night.seconds);
    },
    /** It is told seconds since 1970; undefined on a replica that leads no longer. */
    meteredThrough: metering.knownGauge({
      name: 'muster_metering_last_night_timestamp_seconds',
      help: 'The midnight that ended the last night that is metered for every account, 0 before the first; on the leader alone.',
      unit: 'seconds',
    }),
  };
}
export type MeteringMetrics = ReturnType<typeof meteringMetrics>;
