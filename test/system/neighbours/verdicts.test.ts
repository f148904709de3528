import { describe, expect, test } from 'vitest';
import { earlyRefusal } from '../../chaos/checkers/early-refusal.ts';
import type { Call, History, Kind } from '../../chaos/judgement/history.ts';
import { ledgerFaults, limitFaults, troubledHistory, vacuities } from './verdicts.ts';

/* The judges of neighbouring versions (test/system) find the violations that they are there for, and no others. */

let requests = 0;
function call(kind: Kind, start: number, more: Partial<Call> = {}): Call {
  requests += 1;
  const status = kind === 'app.create' ? 201 : kind === 'app.delete' ? 204 : 200;
  return {
    client: 'full',
    kind,
    replica: requests % 2,
    start,
    end: start + 50,
    requestId: `r${requests}`,
    asked: { account: 'a' },
    told: {},
    status,
    code: '',
    retryAfter: false,
    markers: [],
    ...more,
  };
}
const created = (start: number, count: number): Call[] =>
  Array.from({ length: count }, (_, n) => call('app.create', start + n));
const refused = (start: number, count: number): Call[] =>
  Array.from({ length: count }, (_, n) => call('app.create', start + n, { status: 400, code: 'limit_reached' }));
const deleted = (start: number, count: number): Call[] =>
  Array.from({ length: count }, (_, n) => call('app.delete', start + n));
const listed = (start: number, count: number): Call => call('app.list', start, { told: { count } });
const faults = (...calls: (Call | Call[])[]): string[] => limitFaults({ calls: calls.flat() }, 'a', 995);

describe('the limit of 1000', () => {
  test('is kept where as many creates succeed as there are places', () => {
    expect(
      faults(created(0, 5), refused(5, 3), listed(100, 1000), deleted(200, 4), refused(300, 4), created(304, 4)),
    ).toEqual([]);
  });

  test.each<[string, string[]]>([
    ['one more than there are places', faults(created(0, 6), refused(6, 2))],
    ['one fewer: a place stays empty', faults(created(0, 4), refused(4, 4))],
    ['one more after some were deleted', faults(created(0, 5), refused(5, 3), deleted(200, 2), created(300, 3))],
    ['a list that counts otherwise', faults(created(0, 5), listed(100, 1001))],
  ])('is broken by %s', (_, found) => {
    expect(found).toHaveLength(1);
  });

  test('is not judged after an answer that leaves it open, until a list that comes much later', () => {
    const open = call('app.create', 100, { status: 502, code: 'upstream_unavailable' });
    const never = call('app.create', 100, { status: 0, failure: 'refused' });
    expect(faults(never, created(200, 3), refused(203, 5))).toHaveLength(1);
    expect(faults(open, created(200, 3), refused(203, 5))).toEqual([]);
    expect(faults(open, listed(1000, 996), created(2000, 8))).toEqual([]);
    expect(faults(open, listed(40_000, 996), created(41_000, 4), refused(41_004, 4))).toEqual([]);
    expect(faults(open, listed(40_000, 996), created(41_000, 5), refused(41_005, 3))).toHaveLength(1);
  });
});

describe('the ledger', () => {
  const expected = { 'a 2026-06-01': '2 x', 'a 2026-06-02': '1 y' };
  const once = new Map([
    ['ledger/2026-06/a/01', 1],
    ['ledger/2026-06/a/02', 1],
  ]);

  test('has each night once, with its sum', () => {
    expect(ledgerFaults({ recorded: expected, expected, writes: once })).toEqual([]);
  });

  test.each<[string, Parameters<typeof ledgerFaults>[0], RegExp]>([
    ['is missing', { recorded: { 'a 2026-06-01': '2 x' }, expected, writes: once }, /06-02 is not recorded/],
    [
      'has another sum',
      { recorded: { ...expected, 'a 2026-06-02': '2 y' }, expected, writes: once },
      /as 2 y.*was 1 y/,
    ],
    ['was none', { recorded: { ...expected, 'b 2026-06-02': '0 z' }, expected, writes: once }, /b .*was none/],
    [
      'was written twice',
      { recorded: expected, expected, writes: new Map([...once, ['ledger/2026-06/a/02', 2]]) },
      /2 times/,
    ],
    [
      'was written unseen',
      { recorded: expected, expected, writes: new Map([...once].slice(1)) },
      /1 records were written/,
    ],
  ])('of which a night %s is faulty', (_, ledgers, words) => {
    expect(ledgerFaults(ledgers).join('\n')).toMatch(words);
  });
});

test('an early refusal is blamed after an upgrade, and not after a replica, or this process, stood still', () => {
  const one = call('app.list', 200_000, { asked: { account: 'a', key: 'k' }, status: 429, code: 'rate_limited' });
  const early = (more: Partial<History>): number =>
    earlyRefusal(troubledHistory({ calls: [one], marks: [], stalls: [], markerOf: new Map(), ...more }), {
      state: { accounts: new Map(), apps: new Map(), endpoints: new Map(), credentials: new Map(), audits: [] },
      written: [],
    }).length;
  const [from, until] = [180_000, 181_000];
  expect(early({ marks: [{ what: 'down', name: 'SIGTERM', replica: 0, from, until }] })).toBe(1);
  expect(early({ stalls: [{ from, until: from + 400 }] })).toBe(1);
  expect(early({ marks: [{ what: 'stopped', name: 'SIGSTOP', replica: 0, from, until }] })).toBe(0);
  expect(early({ stalls: [{ from, until }] })).toBe(0);
});

test('a run in which nothing was refused, or only one replica was asked, proves nothing', () => {
  const history: History = { calls: created(0, 9), marks: [], stalls: [], markerOf: new Map() };
  expect(vacuities(history)).toContain('no poll was acknowledged by replica 1');
  expect(vacuities(history)).toContain('replica 0 never refused with limit_reached');
  expect(vacuities(history)).toContain('no refusal by the limit could be judged');
});
