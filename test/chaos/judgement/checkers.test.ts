import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../support/run/effort.ts';
import { CORRECTNESS } from '../checkers/all.ts';
import type { Checker, Outcome } from '../checkers/checker.ts';
import { ANSWER_MS_MAX, lateAfter } from '../checkers/late.ts';
import { validHistory } from '../model/valid-history.ts';
import { VIOLATIONS } from '../violations/all.ts';
import type { Violation } from '../violations/violation.ts';
import type { History } from './history.ts';

const REQUESTS = 150;
const RUNS = runs(30);
const ALL: readonly Checker[] = [...CORRECTNESS, lateAfter(ANSWER_MS_MAX)];

const rulesBroken = (history: History, outcome: Outcome): string[] =>
  ALL.flatMap((check) => check(history, outcome)).map(({ rule, words }) => `${rule}: ${words}`);

const seeds = fc.nat({ max: 1_000_000 });

test('a service without faults breaks no rule, whatever is asked of it, and whichever answers are lost', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const { history, outcome } = validHistory(seed, REQUESTS);
      expect(rulesBroken(history, outcome)).toEqual([]);
    }),
    { numRuns: RUNS },
  );
});

describe.each(VIOLATIONS.map((violation): [string, string, Violation] => [violation.rule, violation.words, violation]))(
  '%s: %s',
  (rule, _, violation) => {
    test('is caught in whatever else goes on, and what is like it and validHistory is not', () => {
      fc.assert(
        fc.property(seeds, (seed) => {
          const ideal = validHistory(seed, REQUESTS / 3);
          ideal.lostShare = 0;
          // Whatever happened before, nobody waits for an answer any more.
          ideal.pass(1000);
          const guilty = violation.commit(ideal);
          expect(rulesBroken(ideal.history, ideal.outcome)).toEqual([]);
          const { history, outcome } = guilty(ideal.history, ideal.outcome);
          expect(ALL.flatMap((check) => check(history, outcome)).map((violation) => violation.rule)).toContain(rule);
        }),
        { numRuns: RUNS },
      );
    });
  },
);
