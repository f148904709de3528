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

test('a service without faults breaks no rule, for any requests and any lost answers', () => {
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
    test('is caught among other requests, and the valid history like it is not', () => {
      fc.assert(
        fc.property(seeds, (seed) => {
          const model = validHistory(seed, REQUESTS / 3);
          model.lostShare = 0;
          // Every request before has its answer by now.
          model.pass(1000);
          const planted = violation.plant(model);
          expect(rulesBroken(model.history, model.outcome)).toEqual([]);
          const { history, outcome } = planted(model.history, model.outcome);
          expect(ALL.flatMap((check) => check(history, outcome)).map((violation) => violation.rule)).toContain(rule);
        }),
        { numRuns: RUNS },
      );
    });
  },
);
