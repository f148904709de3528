import type { Call, History } from '../judgement/history.ts';
import { stalledMs } from '../measure.ts';
import { named, type Checker } from './checker.ts';

/** H15: an outage is known within 2 s; the third is the client's and the wire's. */
export const ANSWER_MS_MAX = 3000;
/** A request without an answer after so long will have none, on a slow machine either. */
export const HANGS_MS = 10_000;

/**
 * No answer takes longer than so many milliseconds, by the client's clock. What a stopped replica owes is due that long
 * after it goes on; the time in which this process itself did not run is nobody's.
 */
export const lateAfter =
  (maxMs: number): Checker =>
  (history) =>
    history.calls.flatMap((call) => {
      const took = tookMs(history, call);
      if (took <= maxMs) return [];
      const what = call.status === 0 ? `had no answer (${call.failure})` : `was answered ${call.status}`;
      return [{ rule: 'late', at: call.end, words: `${named(call)} ${what} after ${Math.round(took)} ms` }];
    });

/** How long the service took for it, in milliseconds. */
function tookMs({ marks, stalls }: History, { replica, start, end }: Call): number {
  const stopped = marks.filter(
    (mark) => mark.what === 'stopped' && mark.replica === replica && mark.from <= end && mark.until >= start,
  );
  const from = Math.max(start, ...stopped.map(({ until }) => until));
  return end - from - stalledMs(stalls, from, end);
}
