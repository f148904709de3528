import { describe, expect, test } from 'vitest';
import { lateAfter } from '../checkers/late.ts';
import { rotationFaults, type Look } from '../cluster/rotation.ts';
import { recoveryMs, throughput, writeGapMs } from '../measure.ts';
import type { Figure } from '../nemesis/fault.ts';
import { CI_SEED, seedFrom } from '../random.ts';
import type { Call, History } from './history.ts';
import { closingLines, sectionLines, verdictOf } from './report.ts';
import { CLOSING, HAMMER, invalidities, LAST_WORDS, LOAD_MIN, LOAD_OVER_MS } from './validity.ts';

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
  markers: [],
  ...change,
});
const at = (end: number, change: Partial<Call> = {}): Call => call({ start: end - 5, end, ...change });
const history = (calls: readonly Call[], more: Partial<History> = {}): History => ({
  calls,
  marks: [],
  stalls: [],
  markerOf: new Map(),
  ...more,
});

const FAULT_AT = 10_000;
const fault = { what: 'fault', name: 'a-fault', from: FAULT_AT, until: FAULT_AT + 1000 } as const;
const lastWords = [0, 1, 2].flatMap((replica) =>
  LAST_WORDS.map((kind, n) => at(20_000 + n, { client: CLOSING, kind, replica })),
);
const ENOUGH = (LOAD_MIN * LOAD_OVER_MS) / 1000;
const load = (requests: number): Call[] => Array.from({ length: requests }, (_, n) => at(FAULT_AT - 1 - n));
const limited = (end: number): Call => at(end, { client: HAMMER, kind: 'app.list', status: 429 });
const limits = [limited(FAULT_AT - 100), limited(fault.until + 100)];
const failing = (index: number): Call[] =>
  lastWords.map((one, n) => (n === index ? { ...one, status: 502, code: 'upstream_unavailable' } : one));

describe('a run that proves nothing', () => {
  const run = (...calls: readonly Call[]): History => history(calls, { marks: [fault] });

  test('enough load before the fault, every replica well at the end, and the limit met: it proves something', () => {
    expect(invalidities(run(...load(ENOUGH), ...limits, ...lastWords), 0)).toEqual([]);
  });

  test.each<[string, History, number, RegExp]>([
    ['one request too few before the fault', run(...load(ENOUGH - 1), ...limits, ...lastWords), 0, /^before a-fault/],
    [
      'load that is refused',
      run(...load(ENOUGH).map((one) => ({ ...one, status: 502 })), ...limits, ...lastWords),
      0,
      /^before a-fault/,
    ],
    [
      'a last create that failed',
      run(...load(ENOUGH), ...limits, ...failing(0)),
      0,
      /^the last app.create on replica 0/,
    ],
    [
      'a last enrollment that failed',
      run(...load(ENOUGH), ...limits, ...failing(4)),
      0,
      /^the last enroll on replica 1/,
    ],
    [
      'a last poll that failed',
      run(...load(ENOUGH), ...limits, ...failing(8)),
      0,
      /^the last poll on replica 2 failed/,
    ],
    [
      'a replica that nobody asked for a poll at the end, though somebody had before',
      run(...load(ENOUGH), ...limits, at(500, { kind: 'poll', replica: 2 }), ...lastWords.slice(0, 8)),
      0,
      /^replica 2 was not asked for a last poll$/,
    ],
    ['no fault', history([...load(ENOUGH), limited(500), ...lastWords]), 0, /^nothing was broken/],
    ['a limit that nobody met before', run(...load(ENOUGH), ...limits.slice(1), ...lastWords), 0, /^nobody .* before/],
    [
      'a limit that nobody met afterwards',
      run(...load(ENOUGH), ...limits.slice(0, 1), ...lastWords),
      0,
      /^nobody .* after/,
    ],
    [
      'a limit that only others met',
      run(...load(ENOUGH), ...limits.map((one) => ({ ...one, client: 'lives' })), ...lastWords),
      0,
      /^nobody .* before/,
    ],
    ['a revision that was not read', run(...load(ENOUGH), ...limits, ...lastWords), 1, /^1 revisions .* compacted/],
  ])('%s', (_, judged, missed, words) => {
    expect(invalidities(judged, missed).join()).toMatch(words);
  });
});

describe('whether a replica leaves the rotation', () => {
  const looks = (...all: readonly (readonly [relists: number, readyz: number])[]): Look[] =>
    all.map(([relists, readyz]) => ({ relists, readyz }));

  test('it is not ready from when it notices until all is listed', () => {
    expect(rotationFaults(looks([1, 200], [2, 503], [2, 503], [2, 200]), 1)).toEqual([]);
    expect(rotationFaults(looks([1, 503], [2, 503], [2, 200]), 1)).toEqual([]);
  });

  test.each<[string, Look[], RegExp]>([
    ['it never noticed', looks([1, 200], [1, 200]), /did not list anew/],
    ['it was away while its store was, and is back without a new listing', looks([1, 503], [1, 200]), /not list anew/],
    ['it stays ready while it lists', looks([1, 200], [2, 200], [2, 503], [2, 200]), /did not leave/],
    ['it was away while its store was, and is ready while it lists', looks([1, 503], [2, 200]), /did not leave/],
    ['it never comes back', looks([1, 200], [2, 503]), /did not come back/],
    ['nobody checked', [], /did not list anew/],
  ])('%s', (_, seen, words) => {
    expect(rotationFaults(seen, 1).join()).toMatch(words);
  });
});

describe('times read off a history', () => {
  test('the write gap is the longest time without an acknowledged write, its ends included', () => {
    const calls = [at(100), at(300), at(350, { status: 502 }), at(360, { kind: 'app.read' }), at(900)];
    expect(writeGapMs(history(calls), 0, 1000)).toBe(600);
    expect(writeGapMs(history(calls), 0, 3000)).toBe(2100);
    expect(writeGapMs(history([]), 0, 1000)).toBe(1000);
  });

  test('the recovery ends when every replica has acknowledged a write that began afterwards', () => {
    const calls = [at(1004, { replica: 0 }), ...[0, 1, 2].map((replica) => at(1100 + replica * 100, { replica }))];
    expect(recoveryMs(history(calls), 1000)).toBe(300);
    expect(recoveryMs(history(calls.slice(0, 3)), 1000)).toBe(Number.POSITIVE_INFINITY);
  });

  test('the throughput of a span and of some clients separates successes and failures', () => {
    const calls = [
      at(50),
      at(400, { status: 0, failure: 'refused' }),
      at(500, { status: 0, failure: 'reset' }),
      at(600, { client: 'other' }),
      at(1200),
    ];
    expect(throughput(history(calls), 0, 1000, (name) => name === 'lives')).toEqual({
      perSecond: 1,
      failed: 1,
      excused: 0,
    });
  });

  test('failures while this process, which runs the wires, stood still for half a second are counted apart', () => {
    const failed = [call({ start: 3000, end: 4000, status: 502 }), call({ start: 3000, end: 4000 })];
    const of = (from: number, until: number) =>
      throughput(history(failed, { stalls: [{ from, until }] }), 0, 10_000, () => true);
    expect(of(3100, 3599)).toMatchObject({ failed: 1, excused: 0 });
    expect(of(3100, 3600)).toMatchObject({ failed: 0, excused: 1 });
    expect(of(1000, 1500)).toMatchObject({ failed: 0, excused: 1 });
    expect(of(999, 1499)).toMatchObject({ failed: 1, excused: 0 });
    expect(of(3501, 4500)).toMatchObject({ failed: 1, excused: 0 });
  });

  test('a 502 at the deadline of the store is counted apart already where this process was kept from running', () => {
    const of = (more: Partial<Call>, stalled: number) =>
      throughput(
        history([call({ start: 3000, end: 5000, status: 502, ...more })], {
          stalls: [{ from: 4000, until: 4000 + stalled }],
        }),
        0,
        10_000,
        () => true,
      );
    expect(of({}, 100)).toMatchObject({ failed: 0, excused: 1 });
    expect(of({}, 99)).toMatchObject({ failed: 1, excused: 0 });
    expect(of({ end: 4999 }, 100), 'it was not the deadline').toMatchObject({ failed: 1, excused: 0 });
    expect(of({ status: 0, failure: 'reset' }, 100)).toMatchObject({ failed: 1, excused: 0 });
  });

  test('the time in which a replica was stopped, or this process did not run, is not counted', () => {
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
    repeated: 0,
    calls: 1,
    acknowledged: 1,
    stalledShare: 0,
  });

  test.each<[string, ReturnType<typeof run>, boolean, 0 | 1 | 2]>([
    ['a limit that is just kept', run([figure(5000)]), true, 0],
    ['a limit that is not', run([figure(5001)]), true, 1],
    ['the same in the short form', run([figure(5001)]), false, 1],
    ['half-written states wherever', run([figure(1, { unit: 'states', limit: 0 })]), false, 1],
    ['a failed request wherever', run([figure(1, { unit: 'requests', limit: 0 })]), false, 1],
    ['none that failed', run([figure(0, { unit: 'requests', limit: 0 })]), false, 0],
    ['a rate in the short form', run([figure(1, { unit: 'requests/s', atLeast: true })]), false, 0],
    ['a least that is not reached', run([figure(4999, { atLeast: true })]), true, 1],
    ['a least that is', run([figure(5001, { atLeast: true })]), true, 0],
    ['what never came', run([figure(Number.POSITIVE_INFINITY)]), true, 1],
    ['a violation', run([], 1), false, 1],
    ['a run that proves nothing', run([], 0, ['idle']), true, 2],
    ['a violation in a run that proves nothing', run([], 1, ['idle']), true, 1],
  ])('%s', (_, judged, judgesRates, verdict) => {
    expect(verdictOf(judged, judgesRates)).toBe(verdict);
  });

  test('the report has each limit, whether it was kept, and the violations', () => {
    expect(sectionLines({ name: 'a-fault', figures: [figure(5001)] }).join()).toContain('limit ≤ 5000 ms: BROKEN');
    expect(closingLines(run([], 30), 1).join('\n')).toMatch(/30 violations[^]*cap: 30[^]*FAILED/);
  });
});

describe('the seed', () => {
  test('is the same in every run of continuous integration, and the given one where one is given', () => {
    expect(seedFrom({ CI: 'true' })).toBe(CI_SEED);
    expect(seedFrom({ CI: 'true', CHAOS_SEED: '4711' })).toBe(4711);
    expect(seedFrom({ CHAOS_SEED: '4711' })).toBe(4711);
    expect(() => seedFrom({ CHAOS_SEED: 'x' })).toThrow(/CHAOS_SEED: give a whole number/);
  });

  test('another one in every other run', () => {
    expect(new Set(Array.from({ length: 20 }, () => seedFrom({ CI: '' }))).size).toBeGreaterThan(1);
  });
});
