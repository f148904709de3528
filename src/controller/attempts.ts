import { AuditedAttempts, type AuditedAttemptsDeps } from '../domain/access-audit/audited-attempts.ts';
import { ANNOUNCE_EVERY_MS, type Replicas } from '../domain/replicas/replicas.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';

interface AttemptsDeps extends Omit<AuditedAttemptsDeps, 'fence'> {
  readonly replicas: Pick<Replicas, 'live'>;
}

/**
 * Enters in the audit what the replicas publish of failed secrets. A round throws `StoreUnavailable` and, of a
 * replica's announcement, `BadRecord`.
 */
export function attemptsReconciler({ replicas, ...deps }: AttemptsDeps, { fence }: Pick<Term, 'fence'>): Reconciler {
  const audited = new AuditedAttempts({ ...deps, fence });
  return {
    name: 'attempts',
    everyMs: ANNOUNCE_EVERY_MS,
    reconcile: async () => await audited.enter(await replicas.live()),
  };
}
