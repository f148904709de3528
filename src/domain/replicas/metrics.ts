import type { Sections } from '../../metrics/instruments/sections.ts';
import { operatorTokensMetrics } from './operator-tokens.ts';

export const replicaMetrics = (to: Sections) => ({
  replicasLive: to.controller.gauge({
    name: 'muster_replicas',
    help: 'Live replicas, as this one sees them.',
    unit: 'replicas',
  }),
  replicaRegistered: to.controller.callbackGauge({
    name: 'muster_replica_registered',
    help: '1 while this replica is on the registry; 0 while it is not: it leads nothing then, and holds no share of a rate.',
    unit: '0 or 1',
  }),
  ...operatorTokensMetrics(to),
  clockSkew: to.controller.gauge({
    name: 'muster_clock_skew_seconds',
    help: 'The least difference of clocks that explains what other replicas wrote or answered, for the one that differs most.',
    unit: 'seconds',
  }),
});
