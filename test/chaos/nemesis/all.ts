import { shuffled, type Random } from '../random.ts';
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

export const LONG: Extent = {
  holdMs: 10_000,
  cutMs: 30_000,
  kills: 100,
  rollingPerSecond: 200,
  steadyMs: 3000,
  calmMs: 120_000,
};
export const SHORT: Extent = { holdMs: 2000, cutMs: 3000, kills: 6, rollingPerSecond: 60, steadyMs: 1500, calmMs: 0 };

/** One round of the faults in an order by chance, and further rounds until the minutes are over. */
export function* rounds(faults: readonly Fault[], chance: Random, minutes: number): Generator<Fault> {
  const endsAt = performance.now() + minutes * 60_000;
  do yield* shuffled(chance, faults);
  while (performance.now() < endsAt);
}
