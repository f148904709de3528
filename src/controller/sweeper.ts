import { expiredCodesSweep } from '../domain/cleanup/expired-codes.ts';
import { idempotencyRecordsSweep, rateRecordsSweep, refusalNotesSweep } from '../domain/cleanup/expired-records.ts';
import { auditSweep } from '../domain/cleanup/old-audit.ts';
import { pastCredentialsSweep } from '../domain/cleanup/orphaned-credentials.ts';
import type { Sweep } from '../domain/cleanup/sweep.ts';
import type { Fleet } from '../domain/fleet/fleet.ts';
import type { ClockWatch } from '../domain/status-history/clock-trust.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/port.ts';
import type { Clock } from '../time/clock.ts';
import { HOUR_MS } from '../time/utc-days.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { SweeperMetrics } from './metrics.ts';

export interface SweeperDeps {
  readonly store: Store;
  readonly fleet: Pick<Fleet, 'memory'>;
  readonly clock: Clock;
  readonly clockWatch: ClockWatch;
  readonly log: Log;
  readonly metrics: SweeperMetrics;
  readonly auditRetentionDays: number;
}

/** One piece of each sweep a round: bounded work, spread over time. */
const ROUND_EVERY_MS = 10_000;
const PASS_EVERY_MS = HOUR_MS;

interface Pass {
  readonly sweep: Sweep;
  from: string | undefined;
  /** On the monotonic clock. */
  dueAt: number;
}

/**
 * Removes what has expired (src/domain/cleanup/sweep.ts), in passes, each begun an hour after the one before has ended. What
 * is removed does not come back: by a clock that is not trusted nothing is.
 */
export function sweepReconciler(
  { store, fleet, clock, clockWatch, log, metrics, auditRetentionDays }: SweeperDeps,
  term: Term,
): Reconciler {
  const deps = { store, clock, fence: term.fence };
  const passes: readonly Pass[] = [
    expiredCodesSweep(deps, fleet.memory),
    idempotencyRecordsSweep(deps),
    rateRecordsSweep(deps),
    refusalNotesSweep(deps),
    pastCredentialsSweep(deps, fleet.memory),
    auditSweep(deps, auditRetentionDays, log),
  ].map((sweep) => ({ sweep, from: undefined, dueAt: clock.monotonic() }));

  async function goOn(pass: Pass, signal: AbortSignal): Promise<void> {
    const { gone, next } = await pass.sweep.piece(pass.from, signal);
    if (gone > 0) metrics.cleaned(pass.sweep.what, gone);
    pass.from = next;
    if (next === undefined) pass.dueAt = clock.monotonic() + PASS_EVERY_MS;
  }

  return {
    name: 'sweep',
    everyMs: ROUND_EVERY_MS,
    async reconcile(signal) {
      if (!clockWatch.trusted()) return;
      const failures: unknown[] = [];
      for (const pass of passes) {
        if (signal.aborted) return;
        if (clock.monotonic() < pass.dueAt) continue;
        // One that fails does not keep the others from their work.
        await goOn(pass, signal).catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
