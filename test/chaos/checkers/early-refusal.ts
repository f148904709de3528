import { LIMITS } from '../../../src/domain/limits.ts';
import type { Call } from '../judgement/history.ts';
import { grouped, named, type Checker } from './checker.ts';

/** H13: over several replicas a refusal counts the requests of so many milliseconds. */
export const LOOKS_BACK_MS = 62_500;
/** The longest hold of a replica (docs/adr/0016-shared-rate-window.md): what it took with it counts from its end. */
const HOLD_MS = 31_500;

/** Whether a request may have been charged: all were, but those refused before the charge or by the limit itself. */
const mayBeCharged = ({ asked, status }: Call): boolean => asked.key !== undefined && status !== 401 && status !== 429;

/** How many of the sorted are below the bound. */
function countBelow(sorted: readonly number[], bound: number): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sorted[middle] ?? 0) < bound) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * Nobody is refused before 600 requests of the account were admitted in the 62.5 s before (H13). Judged only where no
 * fault can have taken units along: what a replica held that died, stood still or was cut off counts as spent.
 */
export const earlyRefusal: Checker = ({ calls, marks }) => {
  const ofKeys = calls.filter(({ asked }) => asked.key !== undefined);
  return [...grouped(ofKeys, ({ asked }) => asked.account)].flatMap(([account, ofAccount]) => {
    const charged = ofAccount.filter(mayBeCharged);
    const starts = charged.map(({ start }) => start).sort((a, b) => a - b);
    const ends = charged.map(({ end }) => end).sort((a, b) => a - b);
    return ofAccount.flatMap((call) => {
      if (call.status !== 429) return [];
      const since = call.start - LOOKS_BACK_MS;
      if (marks.some(({ from, until }) => from <= call.end && until >= since - HOLD_MS)) return [];
      // Each that ended before the time in question has begun before its end, too.
      const admitted = countBelow(starts, call.end) - countBelow(ends, since);
      if (admitted >= LIMITS.requestsPerWindowMax) return [];
      const words = `${named(call)} of ${account} was refused after ${admitted} in ${LOOKS_BACK_MS / 1000} s`;
      return [{ rule: 'early-refusal', at: call.end, words }];
    });
  });
};
