import { expiredBrowsersSweep } from '../domain/cleanup/expired-browsers.ts';
import { expiredCodesSweep } from '../domain/cleanup/expired-codes.ts';
import { appNotesSweep, endedSessionsSweep, signInNotesSweep } from '../domain/cleanup/ended-sessions.ts';
import {
  attemptNotesSweep,
  idempotencyRecordsSweep,
  linksSweep,
  refusalNotesSweep,
} from '../domain/cleanup/expired-records.ts';
import { auditSweep } from '../domain/cleanup/old-audit.ts';
import { pastCredentialsSweep } from '../domain/cleanup/orphaned-credentials.ts';
import { unusedUsersSweep } from '../domain/cleanup/unused-users.ts';
import type { RandomSource } from '../domain/credentials/random-ids.ts';
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

interface SweeperDeps {
  readonly store: Store;
  readonly fleet: Pick<Fleet, 'memory'>;
  readonly clock: Clock;
  readonly clockWatch: ClockWatch;
  readonly random: RandomSource;
  readonly log: Log;
  readonly metrics: SweeperMetrics;
  readonly auditRetentionDays: number;
}

/** A round does one piece of each sweep: bounded work, spread over time. */
const ROUND_EVERY_MS = 10_000;
const PASS_EVERY_MS = HOUR_MS;

interface Pass {
  readonly sweep: Sweep;
  from: string | undefined;
  /** When the pass goes on, on the monotonic clock. */
  dueAt: number;
}

/**
 * Removes expired records (src/domain/cleanup/sweep.ts) in passes, each begun an hour after the one before has ended. A
 * removal cannot be undone, so a clock that is not trusted removes nothing. A sweep that fails does not keep the others
 * from their work; the round then throws its error (`StoreUnavailable`, `BadRecord`).
 */
export function sweepReconciler(
  { store, fleet, clock, clockWatch, random, log, metrics, auditRetentionDays }: SweeperDeps,
  term: Term,
): Reconciler {
  const deps = { store, clock, random, fence: term.fence };
  const passes: readonly Pass[] = [
    expiredCodesSweep(deps, fleet.memory),
    idempotencyRecordsSweep(deps),
    refusalNotesSweep(deps),
    attemptNotesSweep(deps),
    pastCredentialsSweep(deps, fleet.memory),
    linksSweep(deps),
    endedSessionsSweep(deps, fleet.memory),
    signInNotesSweep(deps, fleet.memory),
    expiredBrowsersSweep(deps),
    appNotesSweep(deps, fleet.memory),
    unusedUsersSweep(deps, fleet.memory),
    auditSweep(deps, auditRetentionDays, log),
  ].map((sweep) => ({ sweep, from: undefined, dueAt: clock.monotonic() }));

  async function continuePass(pass: Pass, signal: AbortSignal): Promise<void> {
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
        await continuePass(pass, signal).catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
