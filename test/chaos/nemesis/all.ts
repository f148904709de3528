import { followerKilled, leaderKilled, quorumLost } from './etcd-killed.ts';
import type { Extent, Fault } from './fault.ts';
import { noSpace } from './no-space.ts';
import { replicaKilled } from './replica-killed.ts';
import { rollingRestart } from './rolling-restart.ts';
import { leaderStopped, replicaStopped } from './stopped.ts';
import { allCut, answersLost, compacted, flowDropped } from './wires.ts';

export const FAULTS: readonly Fault[] = [
  leaderKilled,
  followerKilled,
  leaderStopped,
  replicaStopped,
  quorumLost,
  allCut,
  flowDropped,
  answersLost,
  compacted,
  noSpace,
  replicaKilled,
  rollingRestart,
];

export const LONG: Extent = { holdMs: 10_000, cutMs: 30_000, kills: 100, rollingPerSecond: 200, calmMs: 120_000 };
export const SHORT: Extent = { holdMs: 3000, cutMs: 4000, kills: 6, rollingPerSecond: 60, calmMs: 0 };
