import { LIMITS } from '../../../src/domain/limits.ts';
import type { Call } from '../judgement/history.ts';
import { grouped, type Checker } from './checker.ts';

/** Refused before they were charged, refused by the limit, or of unknown charge: none of them counts for certain. */
const UNCHARGED: ReadonlySet<number> = new Set([0, 401, 429, 502, 503]);

const isCharged = ({ asked, status }: Call): boolean => asked.key !== undefined && !UNCHARGED.has(status);

/**
 * Never more than 600 requests of an account admitted within any 60 s, over all replicas (H13). A request is admitted
 * between its start and its end: what counts is what lies in a window as a whole, so that no violation is a guess.
 */
export const rateWindow: Checker = ({ calls }) =>
  [...grouped(calls.filter(isCharged), ({ asked }) => asked.account)].flatMap(([account, charged]) => {
    const starts = charged.map(({ start }) => start).sort((a, b) => a - b);
    const ends = charged.map(({ end }) => end).sort((a, b) => a - b);
    let ended = 0;
    for (const [before, start] of starts.entries()) {
      while ((ends[ended] ?? Number.POSITIVE_INFINITY) < start + LIMITS.rateWindowMs) ended += 1;
      // A request that began before the window also ended before the window does: none takes a minute.
      const admitted = ended - before;
      if (admitted <= LIMITS.requestsPerWindowMax) continue;
      return [
        { rule: 'rate-window', at: start, words: `${admitted} requests of ${account} were admitted within 60 s` },
      ];
    }
    return [];
  });
