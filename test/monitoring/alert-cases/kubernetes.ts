import { gauge, JOB, type AlertCases } from './case.ts';

const INFORMER_FAILURES = 'muster_kubernetes_informer_failures_total';
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
  MusterInformerFailing: {
    fires: {
      why: 'the list of one namespace is refused every half a minute',
      series: gauge(INFORMER_FAILURES, '0+2x60', 'resource="secrets",reason="refused"'),
      at: '30m',
    },
    labels: { ...JOB, resource: 'secrets' },
    quiet: [
      {
        why: 'the API server ends watches as it always does',
        series: gauge(INFORMER_FAILURES, '0+2x60', 'resource="secrets",reason="gone"'),
        at: '30m',
      },
      {
        why: 'it was updated half an hour ago',
        series: gauge(INFORMER_FAILURES, '0+2x5 10x60', 'resource="secrets",reason="unavailable"'),
        at: '40m',
      },
    ],
  },
  MusterNamespaceNotFollowed: {
    fires: {
      why: 'two without their RoleBinding',
      series: gauge('muster_kubernetes_namespaces', '2x30', 'standing="not_granted"'),
      at: '20m',
    },
    labels: { ...JOB, standing: 'not_granted' },
    quiet: [
      {
        why: 'all are followed, but one that is not there yet',
        series: {
          ...gauge('muster_kubernetes_namespaces', '5x30', 'standing="followed"'),
          ...gauge('muster_kubernetes_namespaces', '1x30', 'standing="absent"'),
          ...gauge('muster_kubernetes_namespaces', '0x30', 'standing="held_by_another"'),
        },
        at: '20m',
      },
    ],
  },
};
