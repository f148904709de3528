import { isOk, isWrite, type History } from './judgement/history.ts';

/* Times, read off the history; all in milliseconds. */

/** The longest time in which no write was acknowledged by anybody, within the span. */
export function writeGapMs({ calls }: Pick<History, 'calls'>, from: number, until: number): number {
  const ends = calls.filter((call) => isOk(call) && isWrite(call)).map(({ end }) => end);
  const within = [from, ...ends.filter((end) => end > from && end < until), until].sort((a, b) => a - b);
  return Math.max(...within.map((end, index) => end - (within[index - 1] ?? end)));
}

/**
 * The time from the instant until every replica has acknowledged a write that began after it; infinite where one never
 * did.
 */
export function recoveryMs({ calls }: Pick<History, 'calls'>, from: number): number {
  const first = (replica: number): number =>
    calls.find((call) => call.replica === replica && call.start >= from && isOk(call) && isWrite(call))?.end ??
    Number.POSITIVE_INFINITY;
  return Math.max(...[0, 1, 2].map(first)) - from;
}

/** The store's own deadline: what failed may have waited for a question that another request put so long before. */
const QUESTION_MS = 2000;
/** The wires to etcd run in this process: while it stands still for so long, it is the suite that cuts them. */
const STANDSTILL_MS = 500;
/** While this process is kept from running for so long, etcd and the replicas are, too, and miss their deadlines. */
const BUSY_MS = 100;

/**
 * Requests a second that were answered well, those that were not, and those that failed while the suite's own wires
 * stood still. A connection that was refused is no request: the client went on to the next replica, and reports by
 * other means when there was none.
 */
export function throughput(
  { calls, stalls }: Pick<History, 'calls' | 'stalls'>,
  from: number,
  until: number,
  client: (name: string) => boolean,
): { perSecond: number; failed: number; excused: number } {
  const own = calls.filter(
    (call) => client(call.client) && call.start >= from && call.end <= until && call.failure !== 'refused',
  );
  const bad = own.filter((call) => !isOk(call));
  const excused = bad.filter(({ start, end, status }) => {
    const missedDeadline = status === 502 && end - start >= QUESTION_MS;
    return stalledMs(stalls, start - QUESTION_MS, end) >= (missedDeadline ? BUSY_MS : STANDSTILL_MS);
  }).length;
  return { perSecond: (own.length - bad.length) / ((until - from) / 1000), failed: bad.length - excused, excused };
}

/** How much of the span this process did not run, in milliseconds. */
export function stalledMs(stalls: History['stalls'], from: number, until: number): number {
  return stalls.reduce((sum, stall) => sum + Math.max(0, Math.min(until, stall.until) - Math.max(from, stall.from)), 0);
}
