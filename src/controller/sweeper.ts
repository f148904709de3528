import type { Sweep, SweepDeps } from '../domain/cleanup/sweep.ts';
import { SWEEPS, type SweepName } from '../domain/features.ts';
import type { Fleet } from '../domain/fleet/fleet.ts';
import type { ClockWatch } from '../domain/status-history/clock-trust.ts';
import { HOUR_MS } from '../time/utc-days.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { SweeperMetrics } from './metrics.ts';

interface SweeperDeps extends Omit<SweepDeps, 'memory' | 'fence'> {
  readonly fleet: Pick<Fleet, 'memory'>;
  readonly clockWatch: ClockWatch;
  readonly metrics: SweeperMetrics;
}

/** A round does one piece of each sweep: bounded work, spread over time. */
const ROUND_EVERY_MS = 10_000;
const PASS_EVERY_MS = HOUR_MS;

interface Pass {
  readonly what: SweepName;
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
export function sweepReconciler({ fleet, clockWatch, metrics, ...others }: SweeperDeps, { fence }: Term): Reconciler {
  const { clock } = others;
  const deps = { ...others, memory: fleet.memory, fence };
  const passes = SWEEPS.map(([what, sweep]): Pass => ({ what, sweep, from: undefined, dueAt: clock.monotonic() }));

  async function continuePass(pass: Pass, signal: AbortSignal): Promise<void> {
    const { gone, next } = await pass.sweep(deps, pass.from, signal);
    if (gone > 0) metrics.cleaned(pass.what, gone);
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
