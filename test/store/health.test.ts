import { expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { StoreHealth } from '../../src/store/health.ts';
import { STORE_OPERATIONS, STORE_RESULTS } from '../../src/store/metrics.ts';
import type { StoreCallMetrics, StoreOperation, StoreResult } from '../../src/store/metrics.ts';

interface Watched {
  readonly health: StoreHealth;
  readonly lines: { readonly level: string; readonly msg: string }[];
  ends(result: StoreResult, operation?: StoreOperation): void;
}

function watched(): Watched {
  const lines: Watched['lines'] = [];
  const health = new StoreHealth(
    createLog('debug', { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) }),
  );
  const told: StoreResult[] = [];
  const metrics: StoreCallMetrics = { storeCallEnded: (_operation, result) => void told.push(result) };
  const observing = health.observing(metrics);
  return {
    health,
    lines,
    ends(result, operation = 'commit') {
      observing.storeCallEnded(operation, result, 0);
      expect(told.at(-1)).toBe(result);
    },
  };
}

const errors = ({ lines }: Watched): number => lines.filter(({ level }) => level === 'error').length;

/** The calls that end with a word; any of them may end with a trouble. */
const ENDS_WITH: Partial<Record<StoreResult, readonly StoreOperation[]>> = {
  ok: STORE_OPERATIONS.filter((operation) => operation !== 'commit'),
  committed: ['commit'],
  conflict: ['commit'],
  taken: ['hold'],
  lost: ['rewrite'],
  compacted: ['listAt', 'headAt'],
  future: ['headAt'],
};
const CALLS = STORE_RESULTS.flatMap((result) =>
  (ENDS_WITH[result] ?? STORE_OPERATIONS).map((operation) => [operation, result] as const),
);
const OK = STORE_OPERATIONS.filter((operation) => operation !== 'commit').map((operation) => `${operation} ok`);

test.each<[StoreResult, RegExp, readonly string[]]>([
  [
    'replaced',
    /empty, gone or another one/,
    [
      ...OK,
      'commit committed',
      'commit conflict',
      'hold taken',
      'listAt compacted',
      'headAt compacted',
      'headAt future',
    ],
  ],
  ['readonly', /read-only/, ['hold ok', 'rewrite ok', 'commit committed']],
  ['corrupt', /corrupt/, []],
  ['divided', /alarm CORRUPT/, ['compact ok', 'hold ok', 'rewrite ok', 'commit committed', 'commit conflict']],
])('%s is told in words, logged once, and ends with what shows that it is over', (trouble, words, mended) => {
  const ended = CALLS.filter(([operation, result]) => {
    const it = watched();
    it.ends(trouble, operation);
    it.ends(trouble);
    const told = (): string | undefined => it.health.trouble ?? it.health.degraded;
    expect(told()).toMatch(words);
    expect(errors(it)).toBe(1);
    it.ends(result, operation);
    if (told() === undefined) expect(it.lines.at(-1)?.level).toBe('info');
    return told() === undefined;
  });
  expect(ended.map((call) => call.join(' '))).toEqual(mended);
});

test('a divided store is no trouble that ends service, and does not hide one', () => {
  const it = watched();
  it.ends('divided');
  expect([it.health.trouble, it.health.degraded !== undefined]).toEqual([undefined, true]);
  it.ends('replaced');
  it.ends('divided');
  expect(it.health.trouble).toMatch(/empty, gone or another one/);
});

test('nothing is said of a store that is well, full, slow or away', () => {
  const it = watched();
  for (const result of [
    'ok',
    'committed',
    'conflict',
    'timeout',
    'unreachable',
    'full',
    'refused',
    'failed',
  ] as const) {
    it.ends(result);
    expect(it.health.trouble).toBeUndefined();
  }
  expect(it.lines).toEqual([]);
});
