import type { AuditLog, auditLogMetrics } from '../domain/audit-log/audit-log.ts';
import type { Due, NewsFollower } from '../domain/audit/following/news.ts';
import type { Indexing } from '../domain/audit/index/indexing.ts';
import { sealAccount, type Sealed } from '../domain/audit/seal.ts';
import type { StoredBytes } from '../domain/quota/stored-bytes.ts';
import { BadRecord } from '../domain/records/codec.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/port.ts';
import type { Clock } from '../time/clock.ts';
import { HOUR_MS } from '../time/utc-days.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { AuditSealMetrics } from './metrics.ts';

interface AuditSealDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: AuditSealMetrics;
  /** Made for this term, and disposed of with it. */
  readonly unsealed: NewsFollower;
  readonly storedBytes: Pick<StoredBytes, 'sealed'>;
  readonly indexing: Pick<Indexing, 'sealed'>;
}

/** Every entry is to be sealed within 10 s, and a round takes time as well. */
const SEAL_EVERY_MS = 5000;
/** So many accounts are sealed at a time: each costs a few small reads and a commit. */
const ACCOUNTS_AT_ONCE = 4;

/**
 * Seals the new entries of each account's audit, a few accounts at a time (docs/adr/0011-a-chain-over-the-audit.md). A
 * chain that is not what was written is logged as an error and not continued; the other accounts go on. A round throws
 * `StoreUnavailable`, and the accounts that it did not reach wait for the next one.
 */
export function auditSealReconciler(deps: AuditSealDeps, term: Term): Reconciler {
  const { store, clock, log, metrics, unsealed, storedBytes, indexing } = deps;
  term.signal.addEventListener('abort', () => unsealed[Symbol.dispose](), { once: true });

  async function seal(due: Due): Promise<void> {
    try {
      const sealed = await sealAccount({ store, clock, fence: term.fence }, due);
      if (sealed.more) unsealed.giveBack(due);
      if (sealed.entries > 0) {
        storedBytes.sealed(due.accountId, sealed.chain);
        indexing.sealed(due.accountId, sealed.entries);
      }
      metrics.auditSealed(sealed.entries);
      logHourly(log, due.accountId, sealed);
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error;
      log.error(
        { err: error, accountId: due.accountId },
        'the audit chain is not what was written, and is not continued; see: muster audit verify',
      );
    }
  }

  return {
    name: 'audit-seal',
    everyMs: SEAL_EVERY_MS,
    // After an outage, too, new entries are sealed within 10 s.
    pauseMaxMs: SEAL_EVERY_MS,
    async reconcile(signal) {
      const waiting = (await unsealed.take()).due.toReversed();
      const failures: unknown[] = [];
      const work = async (): Promise<void> => {
        for (let due = waiting.pop(); due; due = waiting.pop()) {
          if (signal.aborted || failures.length > 0) unsealed.giveBack(due);
          else
            await seal(due).catch((error: unknown) => {
              failures.push(error);
              if (due) unsealed.giveBack(due);
            });
        }
      };
      await Promise.all(Array.from({ length: ACCOUNTS_AT_ONCE }, work));
      if (failures.length > 0) throw failures[0];
    },
  };
}

/** Logs the head of the chain once an hour: collected logs show a chain that was written anew later. */
function logHourly(log: Log, accountId: string, { before, chain }: Sealed): void {
  const hour = (at: number): number => Math.floor(at / HOUR_MS);
  if (chain.number === before.number || hour(chain.at) === hour(before.at)) return;
  log.info({ accountId, block: chain.number, digest: chain.digest }, 'audit sealed');
}

const INDEX_EVERY_MS = 5000;

/** Describes sealed entries in the indexes of their audits. A round throws `StoreUnavailable`. */
export const auditIndexReconciler = ({ indexing }: { readonly indexing: Pick<Indexing, 'round'> }): Reconciler => ({
  name: 'audit-index',
  everyMs: INDEX_EVERY_MS,
  reconcile: async (signal) => await indexing.round(signal),
});

interface AuditLogDeps {
  readonly auditLog: AuditLog;
  readonly metrics: Pick<ReturnType<typeof auditLogMetrics>, 'auditLogLag'>;
}

/** All that was committed within this time is noted as written by one commit. */
const WRITE_EVERY_MS = 1000;
/** A file that can be written again is written soon. */
const PAUSE_MAX_MS = 10_000;

/**
 * Writes the entries of all audits as lines (`MUSTER_AUDIT_LOG`). A round throws `StoreUnavailable`, and as the file.
 */
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
