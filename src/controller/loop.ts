import type { Log } from '../log.ts';
import type { Clock } from '../time/clock.ts';
import type { LoopMetrics, LoopName } from './metrics.ts';

/** Reads what is and writes what should be. It may run twice, and may be stopped anywhere. */
export interface Reconciler {
  readonly name: LoopName;
  readonly everyMs: number;
  /** The longest pause after failures; a minute, or its pace where that is longer, unless it says otherwise. */
  readonly pauseMaxMs?: number;
  reconcile(signal: AbortSignal): Promise<void>;
}

export interface LoopDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: LoopMetrics;
}

const PAUSE_MAX_MS = 60_000;

/** The one shape of a loop: pace, back-off, log and metrics; rounds never overlap. Resolves once the signal aborts. */
export async function runLoop(
  { clock, log, metrics }: LoopDeps,
  reconciler: Reconciler,
  signal: AbortSignal,
): Promise<void> {
  const { name, everyMs, pauseMaxMs = Math.max(PAUSE_MAX_MS, everyMs) } = reconciler;
  let failures = 0;
  while (!signal.aborted) {
    const startedAt = clock.monotonic();
    try {
      await reconciler.reconcile(signal);
      failures = 0;
    } catch (err) {
      if (signal.aborted) return;
      failures += 1;
      log.warn({ err, loop: name, failures }, 'round failed, will retry');
    }
    metrics.loopEnded(name, failures === 0 ? 'ok' : 'failed', (clock.monotonic() - startedAt) / 1000);
    await clock.sleep(pauseMs(failures, everyMs, pauseMaxMs), signal);
  }
}

/** Doubles with each failure in a row. */
function pauseMs(failures: number, everyMs: number, pauseMaxMs: number): number {
  return failures === 0 ? everyMs : Math.min(everyMs * 2 ** Math.min(failures, 10), pauseMaxMs);
}
