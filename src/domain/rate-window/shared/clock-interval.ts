import type { Clock } from '../../../time/clock.ts';

/** What the wall's time is for certain, if this machine's clock ever was right within the last minute. */
export interface Span {
  readonly earliest: number;
  readonly latest: number;
}

/** Longer than a unit counts: so long what the clock said before a jump is remembered. */
const REMEMBERED_MS = 62_000;
const EACH_MS = 5000;

/** How far the wall was ahead of the monotonic clock, from an instant of the latter on until that of the next one. */
interface Apart {
  readonly from: number;
  min: number;
  max: number;
}

/**
 * The wall's time, doubted for a minute after it moved apart from the monotonic clock: it jumped, or the machine slept
 * and the monotonic clock stood still. What others hold then counts by the earliest time that may be, what is held here
 * ends by the latest, so that a jump costs requests and never admits one.
 */
export function createWall(clock: Pick<Clock, 'now' | 'monotonic'>): () => Span {
  const apart = (): Apart => {
    const monotonic = clock.monotonic();
    const ahead = clock.now() - monotonic;
    return { from: monotonic, min: ahead, max: ahead };
  };
  let lately = apart();
  let all = [lately];
  let [min, max] = [lately.min, lately.max];
  return () => {
    const now = apart();
    if (now.from - lately.from >= EACH_MS) {
      // One is over when the next begins: the last before a long silence is remembered from its end on.
      all = [...all.filter((_, n) => (all[n + 1] ?? now).from > now.from - REMEMBERED_MS), now];
      lately = now;
      min = Math.min(...all.map((one) => one.min));
      max = Math.max(...all.map((one) => one.max));
    }
    min = Math.min(min, (lately.min = Math.min(lately.min, now.min)));
    max = Math.max(max, (lately.max = Math.max(lately.max, now.max)));
    return { earliest: now.from + min, latest: now.from + max };
  };
}
