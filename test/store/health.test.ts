import { expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { StoreHealth } from '../../src/store/health.ts';
import { STORE_RESULTS, type StoreCallMetrics, type StoreResult } from '../../src/store/metrics.ts';

interface Watched {
  readonly health: StoreHealth;
  readonly lines: { readonly level: string; readonly msg: string }[];
  ends(result: StoreResult): void;
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
    ends(result) {
      observing.storeCallEnded('commit', result, 0);
      expect(told.at(-1)).toBe(result);
    },
  };
}

const errors = ({ lines }: Watched): number => lines.filter(({ level }) => level === 'error').length;

test.each<[StoreResult, RegExp, readonly StoreResult[]]>([
  ['replaced', /empty, gone or another one/, ['ok', 'committed', 'conflict', 'taken', 'compacted', 'future']],
  ['readonly', /read-only/, ['committed']],
  ['corrupt', /corrupt/, []],
])('%s is told in words, logged once, and ends with what shows that it is over', (trouble, words, mended) => {
  for (const result of STORE_RESULTS) {
    const it = watched();
    it.ends(trouble);
    it.ends(trouble);
    expect(it.health.trouble).toMatch(words);
    expect(errors(it)).toBe(1);
    if (result === trouble) continue;
    it.ends(result);
    if (mended.includes(result)) expect([it.health.trouble, it.lines.at(-1)?.level]).toEqual([undefined, 'info']);
    else expect([result, it.health.trouble !== undefined]).toEqual([result, true]);
  }
});

test('a divided store is told in words and is no trouble that ends service, and does not hide one', () => {
  const it = watched();
  it.ends('divided');
  it.ends('divided');
  it.ends('ok');
  expect([it.health.trouble, errors(it)]).toEqual([undefined, 1]);
  expect(it.health.degraded).toMatch(/alarm CORRUPT/);
  it.ends('committed');
  expect([it.health.degraded, it.lines.at(-1)?.level]).toEqual([undefined, 'info']);
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
