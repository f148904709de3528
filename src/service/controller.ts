import { auditSealReconciler, type AuditSealDeps } from '../controller/audit-seal.ts';
import { runOperator, type OperatorDeps } from '../controller/kubernetes/operator.ts';
import { lead, type LeaderDeps, type Term } from '../controller/leader.ts';
import { runLoop, type LoopDeps, type Reconciler } from '../controller/loop.ts';
import { meteringReconciler, type MeteringDeps } from '../controller/metering.ts';
import { pricesReconciler, type PricesDeps } from '../controller/prices.ts';
import { purgeReconciler, type PurgeDeps } from '../controller/purge.ts';
import { rewrapReconciler, type RewrapDeps } from '../controller/rewrap.ts';
import { rolloutReconciler, type RolloutDeps } from '../controller/rollout.ts';
import { sweepReconciler, type SweeperDeps } from '../controller/sweeper.ts';
import type { Fleet } from '../domain/fleet/fleet.ts';

export interface ControllerDeps
  extends
    LoopDeps,
    LeaderDeps,
    PurgeDeps,
    PricesDeps,
    MeteringDeps,
    RewrapDeps,
    RolloutDeps,
    AuditSealDeps,
    SweeperDeps {
  readonly metrics: LoopDeps['metrics'] &
    LeaderDeps['metrics'] &
    PurgeDeps['metrics'] &
    MeteringDeps['metrics'] &
    RewrapDeps['metrics'] &
    RolloutDeps['metrics'] &
    AuditSealDeps['metrics'] &
    SweeperDeps['metrics'];
  readonly fleet: Fleet;
  /** Where this replica has the role. */
  readonly operator: OperatorDeps | undefined;
  /** Off only in tests: then every controller works at once, unfenced, and must still do no harm. */
  readonly election: boolean;
}

/** Every loop of the leader, for one term. */
function reconcilers(deps: ControllerDeps, term: Term): Reconciler[] {
  return [
    purgeReconciler(deps, term),
    auditSealReconciler(deps, term),
    sweepReconciler(deps, term),
    pricesReconciler(deps, term),
    meteringReconciler(deps, term),
    rolloutReconciler(deps, term),
    rewrapReconciler(deps, term),
  ];
}

/** The controller: waits for its turn to lead, and then runs its loops. Resolves when the signal has aborted. */
export async function runController(deps: ControllerDeps, signal: AbortSignal): Promise<void> {
  const work = async (term: Term): Promise<void> => {
    await Promise.all([
      ...reconcilers(deps, term).map((reconciler) => runLoop(deps, reconciler, term.signal)),
      ...(deps.operator ? [runOperator(deps.operator, term)] : []),
    ]);
  };
  if (deps.election) await lead(deps, work, signal);
  else await work({ fence: [], signal });
}
