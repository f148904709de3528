import type { AlertCases } from './case.ts';
import { CONTROL_PLANE_CASES } from './control-plane.ts';
import { FLEET_CASES } from './fleet.ts';
import { KUBERNETES_CASES } from './kubernetes.ts';
import { REPLICAS_CASES } from './replicas.ts';
import { SLO_CASES } from './slo.ts';
import { STORE_CASES } from './store.ts';

export const ALERT_CASES: AlertCases = {
  ...SLO_CASES,
  ...REPLICAS_CASES,
  ...STORE_CASES,
  ...CONTROL_PLANE_CASES,
  ...FLEET_CASES,
  ...KUBERNETES_CASES,
};
