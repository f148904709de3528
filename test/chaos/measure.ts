import { isOk, isWrite, type History } from './history.ts';

/* Times, read off the history; all in milliseconds. */

/** The longest time in which no write was acknowledged by anybody, within the span. */
export function writeGapMs({ calls }: Pick<History, 'calls'>, from: number, until: number): number {
  const ends = calls.filter((call) => isOk(call) && isWrite(call)).map(({ end }) => end);
  const within = [from, ...ends.filter((end) => end > from && end < until), until].sort((a, b) => a - b);
  return Math.max(...within.map((end, index) => end - (within[index - 1] ?? end)));
}

/** From the instant until every replica has acknowledged a write that began after it; infinite where one never did. */
export function recoveryMs({ calls }: Pick<History, 'calls'>, from: number): number {
  const first = (replica: number): number =>
    calls.find((call) => call.replica === replica && call.start >= from && isOk(call) && isWrite(call))?.end ??
    Number.POSITIVE_INFINITY;
  return Math.max(...[0, 1, 2].map(first)) - from;
}

/**
 * Requests a second that were answered well, and those that were not. A connection that was refused is no request: who
 * asked went on to the next replica, and tells by other means when there was none.
 */
export function throughput(
  { calls }: Pick<History, 'calls'>,
  from: number,
  until: number,
  client: (name: string) => boolean,
): { perSecond: number; failed: number } {
  const own = calls.filter(
    (call) => client(call.client) && call.start >= from && call.end <= until && call.failure !== 'refused',
  );
  const good = own.filter(isOk).length;
  return { perSecond: good / ((until - from) / 1000), failed: own.length - good };
}
