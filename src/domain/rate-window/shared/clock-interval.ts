import type { Clock } from '../../../time/clock.ts';

/**
 * The interval in which the true wall-clock time lies, as TrueTime of Google's Spanner has it: it is certain if this
 * machine's clock was right at any instant of the last minute. Both ends are milliseconds since 1970.
 */
export interface ClockInterval {
  readonly earliest: number;
  readonly latest: number;
}

/** Longer than a unit counts: an offset from before a jump is remembered for this long. */
const REMEMBERED_MS = 62_000;
const SAMPLE_MS = 5000;

/**
 * The least and the greatest offset of the wall clock from the monotonic one, from `from` until the next sample begins.
 */
interface OffsetSample {
  /** An instant of the monotonic clock. */
  readonly from: number;
  min: number;
  max: number;
}

/**
 * Returns a function that reads the clock as an interval. The interval has no width while wall and monotonic clock run
 * side by side. For a minute after they moved apart (the wall clock jumped, or the machine slept and the monotonic
 * clock stood still) it spans both readings. Units then count by the earliest time, and own leases end by the latest
 * time, so that a jump costs requests and never admits one.
 */
export function createClockInterval(clock: Pick<Clock, 'now' | 'monotonic'>): () => ClockInterval {
  const sample = (): OffsetSample => {
    const monotonic = clock.monotonic();
    const offset = clock.now() - monotonic;
    return { from: monotonic, min: offset, max: offset };
  };
  let current = sample();
  let samples = [current];
  let [min, max] = [current.min, current.max];
  return () => {
    const now = sample();
    if (now.from - current.from >= SAMPLE_MS) {
      // A sample ends when the next one begins: the last one before a long silence is remembered from its end on.
      samples = [...samples.filter((_, n) => (samples[n + 1] ?? now).from > now.from - REMEMBERED_MS), now];
      current = now;
      min = Math.min(...samples.map((one) => one.min));
      max = Math.max(...samples.map((one) => one.max));
    }
    min = Math.min(min, (current.min = Math.min(current.min, now.min)));
    max = Math.max(max, (current.max = Math.max(current.max, now.max)));
    return { earliest: now.from + min, latest: now.from + max };
  };
}
