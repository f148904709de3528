import { uptime } from 'node:os';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

/** Time, passed in wherever a rule needs it, so that tests own it. */
export interface Clock {
  /** Milliseconds since 1970, UTC, as the machine believes; may jump. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonic(): number;
  /**
   * Milliseconds since the machine started, in which it counts also the time while it was suspended; the monotonic
   * clock may stand still then. Undefined where it is not known.
   */
  uptime?(): number;
  /** Resolves after the pause, or at once when the signal aborts or the pause is over already; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The clocks of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  uptime: () => uptime() * 1000,
  async sleep(ms, signal) {
    await sleep(Math.max(0, ms), undefined, signal ? { signal } : undefined).catch(() => undefined);
  },
};

/** Milliseconds of the machine's monotonic clock, which all processes of a boot share. Rules use `Clock.monotonic`. */
export const machineMonotonic = (): number => Number(process.hrtime.bigint()) / 1e6;
