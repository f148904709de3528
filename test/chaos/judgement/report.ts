import { grouped, type Violation } from '../checkers/checker.ts';
import type { Figure } from '../nemesis/fault.ts';

/** The measurements of a fault. */
export interface Section {
  readonly name: string;
  readonly figures: readonly Figure[];
}

export interface Run {
  readonly sections: readonly Section[];
  readonly violations: readonly Violation[];
  /** Why it proves nothing; empty when it does. */
  readonly invalid: readonly string[];
  readonly calls: number;
  readonly acknowledged: number;
  /** Times that were too long while the machine stood still, and whose fault struck again. */
  readonly repeated: number;
  /** How much of the time this process itself did not run, 0 to 1. */
  readonly stalledShare: number;
}

const SHOWN_PER_RULE_MAX = 8;
/** Above it times tell of the machine. */
const STALLED_SHARE = 0.02;

/** Whether a figure keeps its limit; true where it has none. */
export function isKept({ value, limit, atLeast }: Figure): boolean {
  if (limit === undefined) return true;
  return atLeast === true ? value >= limit : value <= limit;
}

const shown = (value: number): string => (Number.isFinite(value) ? value.toFixed(0) : 'never');

function figureLine(figure: Figure): string {
  const { name, value, unit, limit, atLeast } = figure;
  const bound =
    limit === undefined
      ? ''
      : `, limit ${atLeast === true ? '≥' : '≤'} ${limit} ${unit}: ${isKept(figure) ? 'kept' : 'BROKEN'}`;
  return `  ${name.padEnd(30)} ${shown(value).padStart(7)} ${unit}${bound}`;
}

export const sectionLines = ({ name, figures }: Section): readonly string[] => [name, ...figures.map(figureLine)];

function violationLines(violations: readonly Violation[]): readonly string[] {
  return [...grouped(violations, ({ rule }) => rule)].flatMap(([rule, broken]) => [
    `  ${rule}: ${broken.length}`,
    ...broken
      .slice(0, SHOWN_PER_RULE_MAX)
      .map(({ at, words }) => `    ${at === undefined ? '' : `at ${(at / 1000).toFixed(2)} s `}${words}`),
  ]);
}

/** The exit code of a run: 0 it passed, 1 a rule or a limit was broken, 2 it proves nothing. */
export type Verdict = 0 | 1 | 2;

/** The limits that count on any machine, however slow: times are measured again where it stood still. */
const COUNTED: ReadonlySet<Figure['unit']> = new Set(['states', 'requests', 'ms']);

/** @param judgesRates whether those of rates count, too; else they are only printed */
export function verdictOf({ violations, invalid, sections }: Run, judgesRates: boolean): Verdict {
  const broken = sections.flatMap(({ figures }) => figures).filter((figure) => !isKept(figure));
  if (violations.length > 0 || broken.some(({ unit }) => judgesRates || COUNTED.has(unit))) return 1;
  return invalid.length > 0 ? 2 : 0;
}

export function closingLines(run: Run, verdict: Verdict): readonly string[] {
  const words = { 0: 'passed', 1: 'FAILED', 2: 'INVALID: it proves nothing' };
  return [
    `${run.calls} requests, ${run.acknowledged} acknowledged writes`,
    ...(run.stalledShare > STALLED_SHARE
      ? [
          `this process did not run for ${(run.stalledShare * 100).toFixed(0)} % of the time: the times are those of a machine that is busy elsewhere`,
        ]
      : []),
    ...(run.repeated > 0 ? [`${run.repeated} times were taken again, since the machine stood still`] : []),
    `${run.violations.length} violations`,
    ...violationLines(run.violations),
    ...run.invalid.map((why) => `invalid: ${why}`),
    `chaos: ${words[verdict]}`,
  ];
}
