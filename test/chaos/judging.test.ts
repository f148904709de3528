import { describe, expect, test } from 'vitest';
import type { Call, History } from './history.ts';
import { lateAfter } from './checkers/late.ts';
import { recoveryMs, throughput, writeGapMs } from './measure.ts';
import type { Figure } from './nemesis/fault.ts';
import { CI_SEED, seedFrom } from './random.ts';
import { closingLines, sectionLines, verdictOf } from './report.ts';
import { invalidities, LOAD_MIN, LOAD_OVER_MS } from './validity.ts';

const call = (change: Partial<Call>): Call => ({
  client: 'lives',
  kind: 'app.create',
  replica: 0,
  start: 0,
  end: 10,
  requestId: 'r',
  asked: {},
  told: {},
  status: 201,
  code: '',
  retryAfter: false,
  taints: [],
  ...change,
});
const at = (end: number, change: Partial<Call> = {}): Call => call({ start: end - 5, end, ...change });
const history = (calls: readonly Call[], more: Partial<History> = {}): History => ({
  calls,
  marks: [],
  stalls: [],
  taintOf: new Map(),
  ...more,
});

const FAULT_AT = 10_000;
const fault = { what: 'fault', name: 'a-fault', from: FAULT_AT, until: FAULT_AT + 1000 } as const;
const lastWords = [0, 1, 2].map((replica) => at(20_000, { replica }));
const ENOUGH = (LOAD_MIN * LOAD_OVER_MS) / 1000;
const load = (requests: number): Call[] => Array.from({ length: requests }, (_, n) => at(FAULT_AT - 1 - n));

describe('a run that proves nothing', () => {
  test('enough load before the fault, and every replica well at the end: it proves something', () => {
    expect(invalidities(history([...load(ENOUGH), ...lastWords], { marks: [fault] }))).toEqual([]);
  });

  test.each<[string, History, RegExp]>([
    [
      'one request too few before the fault',
      history([...load(ENOUGH - 1), ...lastWords], { marks: [fault] }),
      /before a-fault/,
    ],
    [
      'load that is refused',
      history([...load(ENOUGH).map((one) => ({ ...one, status: 502 })), ...lastWords], { marks: [fault] }),
      /before a-fault/,
    ],
    [
      'a last operation that failed',
      history([...load(ENOUGH), ...lastWords, at(20_001, { replica: 2, status: 502 })], { marks: [fault] }),
      /replica 2 failed/,
    ],
    [
      'a replica that nobody asked',
      history([...load(ENOUGH), ...lastWords.slice(0, 2)], { marks: [fault] }),
      /nothing was asked of replica 2/,
    ],
    ['no fault', history([...load(ENOUGH), ...lastWords]), /nothing was broken/],
  ])('%s', (_, judged, words) => {
    expect(invalidities(judged).join()).toMatch(words);
  });
});

describe('times read off a history', () => {
  test('the write gap is the longest time without an acknowledged write, its ends included', () => {
    const calls = [at(100), at(300), at(350, { status: 502 }), at(360, { kind: 'app.read' }), at(900)];
    expect(writeGapMs(history(calls), 0, 1000)).toBe(600);
    expect(writeGapMs(history(calls), 0, 3000)).toBe(2100);
    expect(writeGapMs(history([]), 0, 1000)).toBe(1000);
  });

  test('recovered is who acknowledged a write that began afterwards, and all of them must have', () => {
    const calls = [at(1004, { replica: 0 }), ...[0, 1, 2].map((replica) => at(1100 + replica * 100, { replica }))];
    expect(recoveryMs(history(calls), 1000)).toBe(300);
    expect(recoveryMs(history(calls.slice(0, 3)), 1000)).toBe(Number.POSITIVE_INFINITY);
  });

  test('of a span, and of some clients, what was answered well and what was not', () => {
    const calls = [at(50), at(500, { status: 0, failure: 'reset' }), at(600, { client: 'other' }), at(1200)];
    expect(throughput(history(calls), 0, 1000, (name) => name === 'lives')).toEqual({ perSecond: 1, failed: 1 });
  });

  test('a stopped replica owes its answer later, and what this process did not run is nobody’s', () => {
    const late = lateAfter(3000);
    const slow = call({ start: 1000, end: 5000 });
    const stopped = { what: 'stopped', name: 'SIGSTOP', replica: 0, from: 900, until: 2500 } as const;
    expect(late(history([slow]), NOTHING)).toHaveLength(1);
    expect(late(history([slow], { marks: [stopped] }), NOTHING)).toEqual([]);
    expect(late(history([slow], { marks: [{ ...stopped, replica: 1 }] }), NOTHING)).toHaveLength(1);
    expect(late(history([slow], { stalls: [{ from: 2000, until: 3001 }] }), NOTHING)).toEqual([]);
  });
});

const NOTHING = {
  state: { accounts: new Map(), apps: new Map(), endpoints: new Map(), credentials: new Map(), audits: [] },
  written: [],
};

describe('the verdict', () => {
  const figure = (value: number, more: Partial<Figure> = {}): Figure => ({
    name: 'f',
    value,
    unit: 'ms',
    limit: 5000,
    ...more,
  });
  const run = (figures: readonly Figure[], violations = 0, invalid: readonly string[] = []) => ({
    sections: [{ name: 'a-fault', figures }],
    violations: Array.from({ length: violations }, () => ({ rule: 'cap', words: 'broken' })),
    invalid,
    calls: 1,
    acknowledged: 1,
    stalledShare: 0,
  });

  test.each<[string, ReturnType<typeof run>, boolean, 0 | 1 | 2]>([
    ['a limit that is just kept', run([figure(5000)]), true, 0],
    ['a limit that is not', run([figure(5001)]), true, 1],
    ['the same where times are not judged', run([figure(5001)]), false, 0],
    ['half-written states wherever', run([figure(1, { unit: 'states', limit: 0 })]), false, 1],
    ['a least that is not reached', run([figure(4999, { atLeast: true })]), true, 1],
    ['a least that is', run([figure(5001, { atLeast: true })]), true, 0],
    ['what never came', run([figure(Number.POSITIVE_INFINITY)]), true, 1],
    ['a violation', run([], 1), false, 1],
    ['a run that proves nothing', run([], 0, ['idle']), true, 2],
    ['a violation in a run that proves nothing', run([], 1, ['idle']), true, 1],
  ])('%s', (_, judged, judgesTimes, verdict) => {
    expect(verdictOf(judged, judgesTimes)).toBe(verdict);
  });

  test('the report tells each limit, whether it was kept, and what was broken', () => {
    expect(sectionLines({ name: 'a-fault', figures: [figure(5001)] }).join()).toContain('limit ≤ 5000 ms: BROKEN');
    expect(closingLines(run([], 30), 1).join('\n')).toMatch(/30 violations[^]*cap: 30[^]*FAILED/);
  });
});

describe('the seed', () => {
  test('the same in every run of continuous integration, and whatever is asked for where it is asked for', () => {
    expect(seedFrom({ CI: 'true' })).toBe(CI_SEED);
    expect(seedFrom({ CI: 'true', CHAOS_SEED: '4711' })).toBe(4711);
    expect(seedFrom({ CHAOS_SEED: '4711' })).toBe(4711);
    expect(() => seedFrom({ CHAOS_SEED: 'x' })).toThrow(/CHAOS_SEED: give a whole number/);
  });

  test('another one in every other run', () => {
    expect(new Set(Array.from({ length: 20 }, () => seedFrom({ CI: '' }))).size).toBeGreaterThan(1);
  });
});
