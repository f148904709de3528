import type { Log } from '../log.ts';
import { StoreUnavailable } from '../store/port.ts';
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
  /** Called after a round that succeeded; the pause after it ends when the signal aborts. */
  readonly wakes?: () => AbortSignal | undefined;
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
/** A failure that goes on is logged so often: what is tried each second would fill a log in a night. */
const TOLD_AGAIN_MS = 60_000;

/** Says which failures of an attempt are logged: the first, one for another reason, and one a minute. */
export class Failures {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #told: { readonly reason: string; readonly at: number } | undefined;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  isNew(error: unknown): boolean {
    const [reason, at] = [error instanceof StoreUnavailable ? error.reason : String(error), this.#clock.monotonic()];
    if (this.#told?.reason === reason && at - this.#told.at < TOLD_AGAIN_MS) return false;
    this.#told = { reason, at };
    return true;
  }

  over(): void {
    this.#told = undefined;
  }
}

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
  const told = new Failures(clock);
  let failures = 0;
  while (!signal.aborted) {
    const startedAt = clock.monotonic();
    try {
      await reconciler.reconcile(signal);
      failures = 0;
      told.over();
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      if (told.isNew(error)) log.warn({ err: error, loop: name, failures }, 'round failed, will retry');
    }
    metrics.loopEnded(name, failures === 0 ? 'ok' : 'failed', (clock.monotonic() - startedAt) / 1000);
    const woken = failures === 0 ? reconciler.wakes?.() : undefined;
    await clock.sleep(pauseMs(failures, everyMs, pauseMaxMs), woken ? AbortSignal.any([signal, woken]) : signal);
  }
}

/** The pause doubles with each failure in a row. */
function pauseMs(failures: number, everyMs: number, pauseMaxMs: number): number {
  return failures === 0 ? everyMs : Math.min(everyMs * 2 ** Math.min(failures, 10), pauseMaxMs);
}
