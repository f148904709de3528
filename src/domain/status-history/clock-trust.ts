import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import { HOUR_MS } from '../../time/utc-days.ts';

/**
 * Whether the wall clock may close a day. Nothing that was metered can be taken back, so a clock that jumped is not
 * believed: against the monotonic clock of this process, or against the clocks of the others (ADR 0008).
 */
export interface ClockWatch {
  /** Looks at the clocks now. Every look counts: what lies between two of them is not seen. */
  trusted(): boolean;
  /** Whether an instant that was read from the wall clock earlier may be believed now. */
  trusts(at: number): boolean;
}

export interface ClockWatchOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the clocks of the other replicas speak against this one's. */
  readonly othersDisagree?: () => boolean;
}

/** The wall clock jumped where it moved against the monotonic one by more than this. */
export const CLOCK_JUMP_MS = 30_000;
/** A new time is believed once it has stood for so long; and so often the slow drift of a good clock is taken in. */
export const CLOCK_STEADY_MS = HOUR_MS;

/** What the wall clock is ahead of the monotonic one, and since when (monotonic) it is believed or waits to be. */
interface Offset {
  readonly ms: number;
  readonly since: number;
}

export function createClockWatch({ clock, log, othersDisagree = () => false }: ClockWatchOptions): ClockWatch {
  let believed: Offset = offsetNow(clock);
  let candidate: Offset | undefined;
  let trustedBefore = true;

  function jumped(): boolean {
    const now = offsetNow(clock);
    if (near(now, believed)) {
      candidate = undefined;
      if (now.since - believed.since >= CLOCK_STEADY_MS) believed = now;
      return false;
    }
    if (!candidate || !near(now, candidate)) candidate = now;
    if (now.since - candidate.since < CLOCK_STEADY_MS) return true;
    [believed, candidate] = [now, undefined];
    return false;
  }

  function trusted(): boolean {
    const [own, others] = [!jumped(), !othersDisagree()];
    const is = own && others;
    if (is !== trustedBefore) tell(is, own);
    trustedBefore = is;
    return is;
  }

  function tell(is: boolean, own: boolean): void {
    if (is) {
      log.warn({}, 'the clock is trusted again');
      return;
    }
    // What the clocks of the others say is logged where they are compared.
    if (own) return;
    const aheadMs = Math.round(offsetNow(clock).ms - believed.ms);
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
