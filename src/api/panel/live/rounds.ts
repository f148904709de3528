import type { Clock } from '../../../time/clock.ts';

interface RoundsOptions {
  readonly clock: Pick<Clock, 'sleep'>;
  /** Ends the rounds for good. */
  readonly signal: AbortSignal;
  readonly everyMs: number;
  /** The rounds end by themselves when nobody wants them any more. */
  readonly isWanted: () => boolean;
  /** Must not throw. */
  readonly round: () => Promise<void> | void;
}

/** Work that is repeated only while somebody wants it. @returns what begins it; it does nothing while it goes on */
export function createRounds({ clock, signal, everyMs, isWanted, round }: RoundsOptions): () => void {
  let isRunning = false;
  return () => {
    if (!isRunning) void run();
  };

  async function run(): Promise<void> {
    isRunning = true;
    while (isWanted() && !signal.aborted) {
      await clock.sleep(everyMs, signal);
      if (isWanted() && !signal.aborted) await round();
    }
    isRunning = false;
  }
}
