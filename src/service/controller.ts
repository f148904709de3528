import { accountQuotaReconciler } from '../controller/account-quota.ts';
import { attemptsReconciler } from '../controller/attempts.ts';
import { auditIndexReconciler, auditLogReconciler, auditSealReconciler } from '../controller/audit.ts';
import { backupAgeReconciler } from '../controller/backup-age.ts';
import { runOperator, type OperatorDeps } from '../controller/kubernetes/operator.ts';
import { lead, type Term } from '../controller/leader.ts';
import { runLoop, type Reconciler } from '../controller/loop.ts';
import { meteringReconciler } from '../controller/metering.ts';
import { pricesReconciler } from '../controller/prices.ts';
import { purgeReconciler } from '../controller/purge.ts';
import { rateLimitsReconciler } from '../controller/rate-limits.ts';
import { rewrapReconciler } from '../controller/rewrap.ts';
import { fleetHistoryReconciler, rolloutReconciler, transitionsReconciler } from '../controller/rollout.ts';
import { sweepReconciler } from '../controller/sweeper.ts';
import type { LimitedAccounts } from '../domain/limited-accounts/service.ts';
import type { AccountRollouts } from '../domain/rollouts/account-rollouts.ts';
import { configuredPrice, type Core, type DeviceServices } from './domain-services.ts';
import { createTermServices } from './term-services.ts';

/** The parts of the process that the leader's loops use. */
interface ControllerDeps extends Core, Pick<DeviceServices, 'listening'> {
  /** Present where this replica has the role. */
  readonly operator: OperatorDeps | undefined;
  readonly limitedAccounts: LimitedAccounts;
  readonly accountRollouts: AccountRollouts;
  /** Off only in tests: then every controller works at once, unfenced, and must still do no harm. */
  readonly election: boolean;
}

/** The loops of the leader, for one term. */
function reconcilers(deps: ControllerDeps, term: Term): Reconciler[] {
  const { config } = deps;
  const compacts = config.store.kind === 'sqlite' || config.store.compact;
  const services = createTermServices(deps, term.fence);
  return [
    purgeReconciler({ ...deps, ...services, compacts }, term),
    attemptsReconciler(deps, term),
    backupAgeReconciler(deps, term),
    auditSealReconciler({ ...deps, ...services }, term),
    auditIndexReconciler(services),
    ...(services.auditLog ? [auditLogReconciler({ ...deps, auditLog: services.auditLog }, term)] : []),
    accountQuotaReconciler({ ...deps, ...services, ...config }, term),
    sweepReconciler({ ...deps, auditRetentionDays: config.auditRetentionDays }, term),
    pricesReconciler({ ...deps, price: configuredPrice(config) }, term),
    meteringReconciler({ ...deps, meteringDelayMs: config.metering.delaySeconds * 1000 }, term),
    rolloutReconciler({ ...config, ...deps, ...services }, term),
    fleetHistoryReconciler(services),
    transitionsReconciler(services),
    rateLimitsReconciler({ ...deps, metricsAccounts: config.metricsAccounts }, term),
    rewrapReconciler(services),
  ];
}

/**
 * The controller: waits for its turn to lead, and then runs its loops. Resolves when the signal has aborted; never
 * rejects.
 */
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
