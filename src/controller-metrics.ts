import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What the controller says of its work; as in metrics.ts, a module of verbs. */
export interface ControllerMetrics {
  leads(leading: boolean): void;
  termEnded(why: 'stopped' | 'lost'): void;
  /** Devices of all accounts by where they are; undefined where this replica counts them no longer. */
  rolloutCounted(counts: Readonly<Record<'applied' | 'failed' | 'pending' | 'stale', number>> | undefined): void;
  /** A daemon was told a revision for the first time, so long after it was stored. */
  revisionReceived(seconds: number): void;
  detectionsDropped(count: number): void;
}

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
