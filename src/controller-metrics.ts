import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What the controller says of its work; as in metrics.ts, a module of verbs. */
export interface ControllerMetrics {
  leads(leading: boolean): void;
  termEnded(why: 'stopped' | 'lost'): void;
  /** In the registry at the last look. */
  replicasLive(count: number): void;
  /** Of the other replica whose clock is off the most, as far as can be told. */
  clockSkew(seconds: number): void;
  keyRotated(): void;
  rewrapped(count: number): void;
  /** Devices of all accounts by where they are; undefined where this replica counts them no longer. */
  rolloutCounted(counts: Readonly<Record<'applied' | 'failed' | 'pending' | 'stale', number>> | undefined): void;
  /** A daemon was told a revision for the first time, so long after it was stored. */
  revisionReceived(seconds: number): void;
  detectionsDropped(count: number): void;
  auditSealed(entries: number): void;
  cleaned(what: Cleaned, count: number): void;
  /** A night is recorded for every account; `endedAt` is its midnight, both in seconds. */
  nightMetered(night: { readonly late: boolean; readonly endedAt: number; readonly seconds: number }): void;
  /** The midnight that ended the last night that a leader found metered, in seconds. */
  meteredThrough(endedAt: number): void;
  /** Asked whenever the metrics are. */
  clockTrusted(read: () => boolean): void;
}

/** What the clean-up removes. */
export type Cleaned =
  'codes' | 'kept_answers' | 'rate_records' | 'refusal_notes' | 'past_credentials' | 'audit_entries';

const LAG_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600, 21_600, 86_400];

export function createControllerMetrics(registry: Registry): ControllerMetrics {
  const registers = [registry];
  const leading = new Gauge({
    name: 'muster_controller_leading',
    help: '1 on the replica whose controller leads.',
    registers,
  });
  const terms = new Counter({
    name: 'muster_controller_terms_total',
    help: 'Ends of a leadership, by reason.',
    labelNames: ['why'],
    registers,
  });
  const rollout = new Gauge({
    name: 'muster_rollout_devices',
    help: 'Cloud devices of Enterprise accounts by what they did with the current configuration; on the leader alone.',
    labelNames: ['state'],
    registers,
  });
  const lag = new Histogram({
    name: 'muster_rollout_receipt_lag_seconds',
    help: 'Time from a change of the configuration to when a daemon that had an older one was told it.',
    buckets: LAG_SECONDS,
    registers,
  });
  const dropped = new Counter({
    name: 'muster_detections_dropped_total',
    help: 'Entries of the review queue that were dropped to make room for newer ones of the same app.',
    registers,
  });
  return {
    ...replicaMetrics(registers),
    ...upkeepMetrics(registers),
    ...nightMetrics(registers),
    rolloutCounted(counts) {
      rollout.reset();
      for (const [state, devices] of Object.entries(counts ?? {})) rollout.set({ state }, devices);
    },
    revisionReceived: (seconds) => lag.observe(seconds),
    detectionsDropped: (count) => dropped.inc(count),
    leads: (is) => leading.set(is ? 1 : 0),
    termEnded: (why) => terms.inc({ why }),
  };
}

function replicaMetrics(
  registers: Registry[],
): Pick<ControllerMetrics, 'replicasLive' | 'clockSkew' | 'keyRotated' | 'rewrapped'> {
  const replicas = new Gauge({
    name: 'muster_replicas',
    help: 'Replicas that live, as this one sees them.',
    registers,
  });
  const skew = new Gauge({
    name: 'muster_clock_skew_seconds',
    help: 'How far the clock of another replica is from this one at least: of the one that is off the most.',
    registers,
  });
  const rotations = new Counter({
    name: 'muster_key_rotations_total',
    help: 'Rotations of the key-encryption key that this replica made.',
    registers,
  });
  const rewrapped = new Counter({
    name: 'muster_rewrapped_total',
    help: 'Secrets whose data key was wrapped anew under the key that writes.',
    registers,
  });
  return {
    replicasLive: (count) => replicas.set(count),
    clockSkew: (seconds) => skew.set(seconds),
    keyRotated: () => rotations.inc(),
    rewrapped: (count) => rewrapped.inc(count),
  };
}

function nightMetrics(
  registers: Registry[],
): Pick<ControllerMetrics, 'nightMetered' | 'meteredThrough' | 'clockTrusted'> {
  const nights = new Counter({
    name: 'muster_metering_nights_total',
    help: 'Nights metered by this process, by whether more than an hour after their midnight.',
    labelNames: ['late'],
    registers,
  });
  const lastNight = new Gauge({
    name: 'muster_metering_last_night_timestamp_seconds',
    help: 'The midnight that ended the last night that is metered for every account; on a replica that led.',
    registers,
  });
  const nightSeconds = new Gauge({
    name: 'muster_metering_night_seconds',
    help: 'How long the last night took that this process metered, with its pauses.',
    registers,
  });
  let trusted = (): boolean => true;
  const clock: Gauge = new Gauge({
    name: 'muster_clock_trusted',
    help: '1 while this replica may end a day by its clock; 0 after a jump of more than 30 s, or against the others.',
    registers,
    collect: () => clock.set(trusted() ? 1 : 0),
  });
  return {
    nightMetered({ late, endedAt, seconds }) {
      nights.inc({ late: String(late) });
      lastNight.set(endedAt);
      nightSeconds.set(seconds);
    },
    meteredThrough: (endedAt) => lastNight.set(endedAt),
    clockTrusted(read) {
      trusted = read;
    },
  };
}

function upkeepMetrics(registers: Registry[]): Pick<ControllerMetrics, 'auditSealed' | 'cleaned'> {
  const sealed = new Counter({
    name: 'muster_audit_sealed_total',
    help: 'Audit entries put into the chain of their account.',
    registers,
  });
  const gone = new Counter({
    name: 'muster_cleaned_total',
    help: 'Expired things that the clean-up removed, by what they were.',
    labelNames: ['what'],
    registers,
  });
  return {
    auditSealed: (entries) => sealed.inc(entries),
    cleaned: (what, count) => gone.inc({ what }, count),
  };
}
