import type { Clock } from '../../../time/clock.ts';

/** Clocks that go side by side are apart by less: reading two of them takes time. */
const MOVED_MS = 100;

/**
 * Returns a function that tells whether the machine was suspended since it was called before: the monotonic clock then
 * stood still, and a lease seems to last that ends for all others. The wall clock, which is cheap to read, tells when
 * to look at the time since the machine started; where that is unknown, every jump of the wall clock counts.
 */
export function createStandstillCheck(clock: Pick<Clock, 'now' | 'monotonic' | 'uptime'>): () => boolean {
  /** How far the time since the machine started is ahead: its least and its greatest value, as one is read first. */
  const aheadNow = (): { readonly least: number; readonly most: number } | undefined => {
    const before = clock.monotonic();
    const uptime = clock.uptime?.();
    return uptime === undefined ? undefined : { least: uptime - clock.monotonic(), most: uptime - before };
  };
  let wallAhead = clock.now() - clock.monotonic();
  let ahead = aheadNow();
  return () => {
    const now = clock.now() - clock.monotonic();
    const moved = Math.abs(now - wallAhead) > MOVED_MS;
    wallAhead = now;
    if (!moved) return false;
    const before = ahead;
    ahead = aheadNow();
    return before === undefined || ahead === undefined || ahead.least - before.most > MOVED_MS;
  };
}
