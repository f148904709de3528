import type { Log } from '../../log.ts';
import type { Sections } from '../../metrics/instruments/sections.ts';
import type { Clock } from '../../time/clock.ts';
import { HOUR_MS } from '../../time/utc-days.ts';

/**
 * Tells whether the wall clock may close a day. A metered night cannot be taken back, so a clock is not trusted after
 * it jumped against the monotonic clock of this process, or while the clocks of the other replicas contradict it
 * (ADR 0008).
 */
export interface ClockWatch {
  /** Compares the clocks now. It must be called often: a jump there and back between two calls is not noticed. */
  trusted(): boolean;
  /** Whether an instant (milliseconds since 1970) that was read from the wall clock earlier may be trusted now. */
  trusts(at: number): boolean;
}

interface ClockWatchOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the clocks of the other replicas contradict this one's; never, by default. */
  readonly othersDisagree?: () => boolean;
}

/** The wall clock jumped if it moved against the monotonic one by more than this. */
export const CLOCK_JUMP_MS = 30_000;
/**
 * A new time is trusted once it has been steady for this long; this often, too, the drift of a good clock is taken in.
 */
export const CLOCK_STEADY_MS = HOUR_MS;

/** How far the wall clock is ahead of the monotonic one, and since when (monotonic) that is trusted, or waits to be. */
interface Offset {
  readonly ms: number;
  readonly since: number;
}

/** Watches the clock from now on; the time at this call is trusted. */
export function createClockWatch({ clock, log, othersDisagree = () => false }: ClockWatchOptions): ClockWatch {
  let trustedOffset: Offset = offsetNow(clock);
  let candidate: Offset | undefined;
  let wasTrusted = true;

  function jumped(): boolean {
    const now = offsetNow(clock);
    if (near(now, trustedOffset)) {
      candidate = undefined;
      if (now.since - trustedOffset.since >= CLOCK_STEADY_MS) trustedOffset = now;
      return false;
    }
    if (!candidate || !near(now, candidate)) candidate = now;
    if (now.since - candidate.since < CLOCK_STEADY_MS) return true;
    [trustedOffset, candidate] = [now, undefined];
    return false;
  }

  function trusted(): boolean {
    const [own, others] = [!jumped(), !othersDisagree()];
    const isTrusted = own && others;
    if (isTrusted !== wasTrusted) report(isTrusted, own);
    wasTrusted = isTrusted;
    return isTrusted;
  }

  function report(isTrusted: boolean, own: boolean): void {
    if (isTrusted) {
      log.warn({}, 'the clock is trusted again');
      return;
    }
    // A contradiction by the other replicas is logged where the clocks are compared.
    if (own) return;
    const aheadMs = Math.round(offsetNow(clock).ms - trustedOffset.ms);
    log.error(
      { aheadMs },
      'the clock jumped: no day ends and no night is metered by it; set it right, or leave it steady for an hour',
    );
  }

  return { trusted, trusts: (at) => trusted() && at <= clock.now() + CLOCK_JUMP_MS };
}

function offsetNow(clock: Clock): Offset {
  const since = clock.monotonic();
  return { ms: clock.now() - since, since };
}

const near = (one: Offset, other: Offset): boolean => Math.abs(one.ms - other.ms) <= CLOCK_JUMP_MS;

export const clockMetrics = ({ controller }: Sections) => ({
  wallClock: controller.callbackGauge(
    {
      name: 'muster_wall_clock_seconds',
      help: "The wall clock of this replica at the scrape; against the time of the sample it tells how far it is from Prometheus'.",
      unit: 'seconds',
    },
    Number.NaN,
  ),
  clockTrusted: controller.callbackGauge(
    {
      name: 'muster_clock_trusted',
      help: '1 while this replica may end a day by its clock; 0 after a jump of more than 30 s, or against the others.',
      unit: '0 or 1',
    },
    1,
  ),
});
