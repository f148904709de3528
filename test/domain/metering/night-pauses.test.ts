import { expect, test } from 'vitest';
import { meterNight, type Night, type NightDeps } from '../../../src/domain/metering/meter-night.ts';
import { createLog } from '../../../src/log.ts';

const PAUSE_MAX_MS = 1000;
const ACCOUNTS = 20;

interface Slept {
  readonly ms: number;
  /** The apps that were read since the pause before. */
  readonly apps: number;
}

/** A night over 20 accounts by a clock that stands still but for pauses and listings. */
function nightOf(
  apps: readonly { id: string; status: string }[],
  listMs: number,
  onPause: () => void = () => undefined,
) {
  const slept: Slept[] = [];
  const told = { commits: 0 };
  let [now, read] = [0, 0];
  const ids = Array.from({ length: ACCOUNTS }, (_, index) => `account${10 + index}`);
  const memory = {
    whole: true,
    unreadableCount: 0,
    unreadableAccounts: () => new Set<string>(),
    accounts: () => ids.map((id) => ({ id, record: { createdAt: 0 } })),
    account: () => ({
      record: { disabled: false },
      *apps() {
        for (const app of apps) {
          read += 1;
          yield app;
        }
      },
    }),
    day: () => ({ record: { day: '2026-01-02' } }),
  };
  const sleep = async (ms: number): Promise<void> => {
    slept.push({ ms, apps: read });
    read = 0;
    now += ms;
    onPause();
  };
  const deps = {
    fleet: { memory, current: async () => ({ atOnce: true }) },
    clock: { now: () => now, monotonic: () => now, sleep },
    clockWatch: { trusted: () => true },
    pauseMs: 5,
    log: createLog('silent'),
    fence: [],
    store: {
      list: async () => ((now += listMs), { entries: [], revision: 1 }),
      get: async () => undefined,
      commit: async () => ((told.commits += 1), { outcome: 'committed', revision: 2 }),
    },
  } as unknown as NightDeps;
  const night = { day: '2026-01-01', price: { price: '1.00', currency: 'EUR' }, doneTo: '' } as unknown as Night;
  return { slept, told, meter: async (signal: AbortSignal) => await meterNight(deps, night, signal) };
}

const apps = (count: number, status: string) =>
  Array.from({ length: count }, (_, index) => ({ id: `app${index}`, status }));

test.each(['active', 'pending', 'revoked'])(
  'a night pauses after each account with many %s apps, while it reads and after its commit',
  async (status) => {
    const { slept, told, meter } = nightOf(apps(1000, status), 1);
    expect(await meter(new AbortController().signal)).toBe(true);
    expect(slept.length).toBeGreaterThan(ACCOUNTS);
    expect(Math.max(...slept.map((pause) => pause.apps))).toBe(1000);
    expect(told.commits).toBe(1);
  },
);

test('a night goes on at once between small accounts', async () => {
  const { slept, meter } = nightOf(apps(2, 'active'), 1);
  await meter(new AbortController().signal);
  expect(slept).toHaveLength(1);
});

test('time for which a night waited for the store is no work, and no pause is longer than a second', async () => {
  const { slept, meter } = nightOf(apps(50, 'active'), 30_000);
  await meter(new AbortController().signal);
  expect(Math.max(...slept.map(({ ms }) => ms))).toBeLessThan(PAUSE_MAX_MS);
});

test('a night ends in the pause in which it is stopped, and records nothing', async () => {
  const stop = new AbortController();
  const { slept, told, meter } = nightOf(apps(250, 'active'), 1, () => stop.abort(new Error('stopped')));
  await expect(meter(stop.signal)).rejects.toThrow('stopped');
  expect([slept.length, told.commits]).toEqual([1, 0]);
});
