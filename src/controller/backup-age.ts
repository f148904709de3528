import { lastBackupAt } from '../domain/backup/last-backup.ts';
import type { Store } from '../store/port.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { BackupAgeMetrics } from './metrics.ts';

interface BackupAgeDeps {
  readonly store: Store;
  readonly metrics: BackupAgeMetrics;
}

const READ_EVERY_MS = 30_000;

/**
 * Shows in the metrics when the last backup was made. It writes nothing, so it needs no fence. A round throws
 * `StoreUnavailable` and `BadRecord`.
 */
export function backupAgeReconciler({ store, metrics }: BackupAgeDeps, term: Pick<Term, 'signal'>): Reconciler {
  term.signal.addEventListener('abort', () => metrics.lastBackup(undefined), { once: true });
  return {
    name: 'backup-age',
    everyMs: READ_EVERY_MS,
    async reconcile(signal) {
      const at = (await lastBackupAt(store)) ?? 0;
      if (!signal.aborted) metrics.lastBackup(at / 1000);
    },
  };
}
