import type { Log } from '../log.ts';
import type { Clock } from '../time/clock.ts';
import type { LoopMetrics, LoopName } from './metrics.ts';

/**
 * One kind of work that is done in rounds: a round reads the state of the store and writes what should be there. It may
 * run twice, and may be stopped anywhere.
 */
export interface Reconciler {
  /** Labels the metrics and the log. */
  readonly name: LoopName;
  /** The pause after a round that succeeded. */
  readonly everyMs: number;
  /** The longest pause after failures; by default a minute, or `everyMs` where that is longer. */
  readonly pauseMaxMs?: number;
  /** Does one round. An error of any kind fails the round: the loop logs it and tries again. */
  reconcile(signal: AbortSignal): Promise<void>;
}

/** The clock, log and metrics of a loop. */
interface LoopDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: LoopMetrics;
}

const PAUSE_MAX_MS = 60_000;

/**
 * Runs the rounds of a reconciler, one after the other, with its pace, a back-off after failures, log and metrics.
 * Resolves once the signal aborts and the round under way has ended; never rejects.
 */
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
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      log.warn({ err: error, loop: name, failures }, 'round failed, will retry');
    }
    metrics.loopEnded(name, failures === 0 ? 'ok' : 'failed', (clock.monotonic() - startedAt) / 1000);
    await clock.sleep(pauseMs(failures, everyMs, pauseMaxMs), signal);
  }
}

/** The pause doubles with each failure in a row. */
function pauseMs(failures: number, everyMs: number, pauseMaxMs: number): number {
  return failures === 0 ? everyMs : Math.min(everyMs * 2 ** Math.min(failures, 10), pauseMaxMs);
}
