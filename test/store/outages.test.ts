import { describe, expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { instrumented } from '../../src/store/instrumented.ts';
import { OUTAGE_MS, Outages, type CallKind } from '../../src/store/outages.ts';
import { expectAbsent, StoreUnavailable, type Held, type Store, type StoreTrouble } from '../../src/store/port.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { wrappedStore } from '../support/store/wrapped-store.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { rawKey } from '../support/store/raw-key.ts';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly reason?: string;
  readonly seconds?: number;
  readonly failed?: number;
}

const TOLD = 'the store does not answer: requests are refused with 502 until it does';
const NO_WRITES = 'the store takes no writes: requests that need one are refused with 502 until it does';
const OVER = 'the store answers again';

function observed() {
  const clock = new FakeClock();
  const lines: Line[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(JSON.parse(line) as Line) });
  const outages = new Outages({ clock, log });
  return {
    clock,
    lines,
    outages,
    told: () => lines.map(({ level, msg }) => [level, msg]),
    /** A call that took so long. */
    fails: (reason: StoreTrouble = 'unreachable', tookMs = 0, kind: CallKind = 'read') =>
      outages.failed(new StoreUnavailable(reason, 'head: no connection'), clock.monotonic() - tookMs, kind),
  };
}

test('thirty seconds with 600 failed calls each are one error with its cause, and one line when they end', () => {
  const { clock, lines, outages, fails, told } = observed();
  for (let seconds = 0; seconds < 30; seconds += 1) {
    for (let call = 0; call < 600; call += 1) fails();
    clock.advance(1000);
  }
  expect(told()).toEqual([['error', TOLD]]);
  outages.answered('read');
  outages.answered('read');
  expect(told()).toEqual([
    ['error', TOLD],
    ['warn', OVER],
  ]);
  expect(lines).toMatchObject([
    { reason: 'unreachable', seconds: 2, err: { message: 'head: no connection' } },
    { seconds: 30, failed: 18_000 },
  ]);
});

test('what is shorter than an outage is not told, neither its beginning nor its end', () => {
  const { clock, outages, fails, told } = observed();
  fails();
  clock.advance(OUTAGE_MS - 1);
  fails();
  outages.answered('read');
  clock.advance(OUTAGE_MS);
  fails();
  expect(told()).toEqual([]);
  clock.advance(OUTAGE_MS);
  fails();
  expect(told()).toEqual([['error', TOLD]]);
});

test('a call that hung counts from when it began', () => {
  const { clock, fails, told } = observed();
  clock.advance(1800);
  fails('timeout', 1800);
  clock.advance(199);
  fails('timeout', 1);
  expect(told()).toEqual([]);
  clock.advance(1);
  fails('timeout', 1800);
  expect(told()).toEqual([['error', TOLD]]);
});

test('each outage is told', () => {
  const { clock, outages, fails, told } = observed();
  for (let time = 0; time < 2; time += 1) {
    fails();
    clock.advance(OUTAGE_MS);
    fails('refused');
    outages.answered('read');
  }
  expect(told().map(([, msg]) => msg)).toEqual([TOLD, OVER, TOLD, OVER]);
});

test.each<[StoreTrouble, string]>([
  ['full', 'it answers that it takes no more'],
  ['divided', 'it answers that its members do not agree'],
  ['closed', 'this process has closed it'],
])('a store that is %s is no outage: %s', (reason) => {
  const { clock, fails, told } = observed();
  fails(reason);
  clock.advance(OUTAGE_MS);
  fails(reason);
  expect(told()).toEqual([]);
});

describe('a store that answers reads and no writes', () => {
  test('is an outage, which ends with a write', () => {
    const { clock, outages, fails, told } = observed();
    for (let seconds = 0; seconds < 30; seconds += 1) {
      fails('failed', 0, 'write');
      outages.answered('read');
      clock.advance(1000);
    }
    expect(told()).toEqual([['error', NO_WRITES]]);
    outages.answered('write');
    expect(told().at(-1)).toEqual(['warn', OVER]);
  });

  test('is told as one that does not answer where reads fail too, once', () => {
    const { clock, fails, told } = observed();
    for (let seconds = 0; seconds < 5; seconds += 1) {
      fails('timeout', 0, 'read');
      fails('timeout', 0, 'write');
      clock.advance(1000);
    }
    expect(told()).toEqual([['error', TOLD]]);
  });

  test('is well again where nobody writes any more', () => {
    const { clock, outages, fails, told } = observed();
    fails('timeout', OUTAGE_MS, 'write');
    clock.advance(9_999);
    outages.answered('read');
    expect(told()).toHaveLength(1);
    clock.advance(1);
    outages.answered('read');
    expect(told().at(-1)).toEqual(['warn', OVER]);
  });

  test('is none where it refuses some writes only', () => {
    const { clock, outages, fails, told } = observed();
    for (let seconds = 0; seconds < 5; seconds += 1) {
      fails('refused', 0, 'write');
      outages.answered('read');
      clock.advance(1000);
    }
    expect(told()).toEqual([]);
  });

  test.each([
    ['commit', (store: Store) => store.commit({ expect: [expectAbsent('k')], write: [] })],
    ['hold', (store: Store) => store.hold(rawKey('k'), '', 1000)],
  ] as const)('shows by a %s', async (operation, call) => {
    const { clock, told, outages } = observed();
    await using opened = await openSqliteStore(':memory:');
    const fails = async (): Promise<never> => {
      await Promise.resolve();
      clock.advance(OUTAGE_MS);
      throw new StoreUnavailable('failed', 'disk I/O error');
    };
    const store = instrumented(
      wrappedStore(opened, { [operation]: fails }),
      clock,
      { storeCallEnded: () => undefined },
      outages,
    );
    await expect(call(store)).rejects.toThrow('disk I/O error');
    await store.get('k');
    expect(told()).toEqual([['error', NO_WRITES]]);
  });
});

describe('the rewrites of a held key', () => {
  async function held(rewrite: Held['rewrite']) {
    const { clock, outages, fails, told } = observed();
    await using opened = await openSqliteStore(':memory:');
    const ended: string[] = [];
    const hold: Store['hold'] = async (...request) => {
      const own = await opened.hold(...request);
      if (own === 'taken') return own;
      return { revision: 7, lost: own.lost, release: () => own.release(), rewrite };
    };
    const metrics = { storeCallEnded: (...call: readonly unknown[]) => void ended.push(call.slice(0, 2).join(' ')) };
    const store = instrumented(wrappedStore(opened, { hold }), clock, metrics, outages);
    const key = await store.hold(rawKey('k'), '1', 1000);
    if (key === 'taken') throw new Error('the key was free');
    return { key, fails, told, ended };
  }

  test('are counted, and a failed one is a write that failed', async () => {
    const words: (() => ReturnType<Held['rewrite']>)[] = [
      async () => 'written',
      async () => {
        throw new StoreUnavailable('divided', 'hold: refused');
      },
      async () => 'lost',
    ];
    const { key, ended } = await held(async () => (await words.shift()?.()) ?? 'lost');
    expect(key.revision).toBe(7);
    expect(await key.rewrite('2')).toBe('written');
    await expect(key.rewrite('3')).rejects.toThrow('hold: refused');
    expect(await key.rewrite('4')).toBe('lost');
    expect(ended).toEqual(['hold ok', 'rewrite ok', 'rewrite divided', 'rewrite lost']);
  });

  test.each<[Awaited<ReturnType<Held['rewrite']>>, string[][], string]>([
    ['lost', [['error', TOLD]], 'a holder may know so without the store'],
    [
      'written',
      [
        ['error', TOLD],
        ['warn', OVER],
      ],
      'the store took it',
    ],
  ])('one that ends with %s leaves of an outage: %j (%s)', async (word, lines) => {
    const { key, fails, told } = await held(async () => word);
    fails('unreachable', OUTAGE_MS);
    await key.rewrite('2');
    expect(told()).toEqual(lines);
  });
});
