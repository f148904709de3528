import type { AuditLog } from '../domain/audit-log/audit-log.ts';
import type { auditLogMetrics } from '../domain/audit-log/audit-log.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';

interface AuditLogDeps {
  readonly auditLog: AuditLog;
  readonly metrics: Pick<ReturnType<typeof auditLogMetrics>, 'auditLogLag'>;
}

/** What was committed within this time is noted as written by one commit. */
const WRITE_EVERY_MS = 1000;
/** A file that can be written again is written soon. */
const PAUSE_MAX_MS = 10_000;

/** Writes the entries of all audits as lines (`MUSTER_AUDIT_LOG`). A round throws `StoreUnavailable`, and as the file. */
export function auditLogReconciler({ auditLog, metrics }: AuditLogDeps, term: Pick<Term, 'signal'>): Reconciler {
  metrics.auditLogLag(() => auditLog.lagMs() / 1000);
  const end = (): void => {
    metrics.auditLogLag(undefined);
    auditLog[Symbol.dispose]();
  };
  term.signal.addEventListener('abort', end, { once: true });
  return {
    name: 'audit-log',
    everyMs: WRITE_EVERY_MS,
    pauseMaxMs: PAUSE_MAX_MS,
    reconcile: async (signal) => await auditLog.round(signal),
  };
}
