import { gauge, JOB, type AlertCases } from './case.ts';

const FAILURES = 'muster_kubernetes_reconcile_failures_total';
const RECONCILES = 'muster_kubernetes_reconcile_duration_seconds_count';

export const KUBERNETES_CASES: AlertCases = {
  MusterInformerStale: {
    fires: {
      why: 'ten minutes of silence',
      series: gauge('muster_kubernetes_informer_age_seconds', '0+60x30', 'resource="fleetapps"'),
      at: '15m',
    },
    labels: { ...JOB, resource: 'fleetapps' },
    quiet: [
      {
        why: 'a bookmark every minute',
        series: gauge('muster_kubernetes_informer_age_seconds', '50x30', 'resource="fleetapps"'),
        at: '15m',
      },
    ],
  },
  MusterReconcilesFailing: {
    fires: {
      why: 'nine reconciliations of ten',
      series: {
        ...gauge(RECONCILES, '0+1x60', 'kind="FleetApp",outcome="settled"'),
        ...gauge(RECONCILES, '0+9x60', 'kind="FleetApp",outcome="failed"'),
      },
      at: '40m',
    },
    labels: { ...JOB, kind: 'FleetApp' },
    quiet: [
      {
        why: 'a conflict is tried again, and is no failure',
        series: {
          ...gauge(RECONCILES, '0+1x60', 'kind="FleetApp",outcome="settled"'),
          ...gauge(RECONCILES, '0+9x60', 'kind="FleetApp",outcome="conflict"'),
        },
        at: '40m',
      },
    ],
  },
  MusterSecretsNotWritten: {
    fires: {
      why: 'a Secret that is refused every five minutes',
      series: gauge(FAILURES, '0x4 1x4 2x4 3x4 4x4 5x4 6x4 7x4 8x4', 'kind="FleetApp",reason="SecretWriteFailed"'),
      at: '40m',
    },
    labels: { ...JOB, kind: 'FleetApp' },
    quiet: [
      {
        why: 'a quota that was used up for a moment',
        series: gauge(FAILURES, '0x4 1x4 2x60', 'kind="FleetApp",reason="SecretWriteFailed"'),
        at: '40m',
      },
      {
        why: 'another failure',
        series: gauge(FAILURES, '0+1x60', 'kind="FleetApp",reason="WriteConflict"'),
        at: '40m',
      },
    ],
  },
  MusterWriteConflict: {
    fires: {
      why: 'a key that is held back, but for the moments at which it is answered',
      series: gauge('muster_kubernetes_write_conflicts', '1x8 0 1x8 0 1x30', 'kind="FleetApiKey"'),
      at: '30m',
    },
    labels: { ...JOB, kind: 'FleetApiKey' },
    quiet: [
      {
        why: 'a Secret that was changed four times by hand',
        series: gauge('muster_kubernetes_write_conflicts', '0x20 1x2 0x30', 'kind="FleetApiKey"'),
        at: '30m',
      },
    ],
  },
  MusterResourcesNotReady: {
    fires: {
      why: 'two apps for an hour',
      series: gauge('muster_kubernetes_resources', '2x60', 'kind="FleetApp",ready="False"'),
      at: '50m',
    },
    labels: { ...JOB, kind: 'FleetApp' },
    quiet: [
      {
        why: 'all are Ready',
        series: gauge('muster_kubernetes_resources', '2x60', 'kind="FleetApp",ready="True"'),
        at: '50m',
      },
    ],
  },
};
