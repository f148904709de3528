import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { DEADLINES } from '../../../../src/domain/limits.ts';
import type { LiveReplica } from '../../../../src/domain/rate-window/shared/age-exchange.ts';
import {
  createSharedRateWindow,
  type SharedRateWindow,
} from '../../../../src/domain/rate-window/shared/shared-window.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { expectAbsent, type Store } from '../../../../src/store/port.ts';
import { openSqliteStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { entriesOf } from '../../../support/service/accounts.ts';
import type { Clock } from '../../../../src/time/clock.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';
import { rawKey } from '../../../support/store/raw-key.ts';

const log = pino({ level: 'silent' });
const metrics = {
  rateAllotment: () => undefined,
  rateRecordRepaired: () => undefined,
  rateWaited: () => undefined,
  rateSharedAge: () => undefined,
};

interface Running extends AsyncDisposable {
  readonly window: SharedRateWindow;
  /** It dies: nothing is returned. */
  readonly kill: () => Promise<void>;
}

/** Who heard whose clock, and by how much it is ahead at least. */
const heard: (readonly [string, string, number])[] = [];

/** Replicas on one store and one clock, which know of each other by `live`. */
function running(store: Store, clock: Clock, replicaId: string, live: readonly LiveReplica[]): Running {
  const stopping = new AbortController();
  const window = createSharedRateWindow({
    store,
    clock,
    deadlines: DEADLINES,
    log,
    metrics,
    replicaId,
    replicas: {
      live: async () => live,
      clockHeard: (other, skewMs) => void heard.push([replicaId, other, skewMs]),
      unregistered: () => undefined,
    },
  });
  const run = window.run(stopping.signal);
  const kill = async (): Promise<void> => {
    stopping.abort();
    await run;
  };
  return { window, kill, [Symbol.asyncDispose]: kill };
}

const replicas = (...ids: readonly string[]): readonly LiveReplica[] => ids.map((replicaId) => ({ replicaId }));

const pass = async (clock: FakeClock, store: Store, ms: number): Promise<void> => {
  for (let passed = 0; passed < ms; passed += 500) {
    clock.advance(500);
    await store.get('nothing');
  }
};

const spend = async ({ window }: Running, requests: number): Promise<number> => {
  const all = await Promise.all(Array.from({ length: requests }, async () => window.charge('a')));
  return all.filter(({ admitted }) => admitted).length;
};

describe('a replica that starts while the window is full', () => {
  /** One replica has used all; 50 s later another one starts, and 12 s after that it gets a request. */
  async function started(live: readonly LiveReplica[], dies: boolean): Promise<boolean | undefined> {
    await using store = await openSqliteStore(':memory:');
    const clock = new FakeClock();
    await using one = running(store, clock, 'one', replicas('one'));
    await pass(clock, store, 1000);
    expect(await spend(one, 600)).toBe(600);
    await pass(clock, store, 50_000);
    if (dies) await one.kill();
    await using late = running(store, clock, 'late', live);
    await pass(clock, store, 12_000);
    let admitted: boolean | undefined;
    void Promise.resolve(late.window.charge('a')).then((decision) => (admitted = decision.admitted));
    // It waits for a second where the other one does not return its allotment.
    await until(() => {
      clock.advance(50);
      return admitted !== undefined;
    });
    // Nothing is left of question and answer.
    await until(async () => {
      clock.advance(50);
      return (await entriesOf(store, KEYS.rateQuestion.under())).length === 0;
    });
    return admitted;
  }

  test('is told how old everything is, and refuses nobody who has waited for a minute', async () => {
    expect(await started(replicas('one', 'late'), false)).toBe(true);
  });

  test.each([
    ['there is nobody to ask', replicas('late'), true],
    ['the other one does not answer', replicas('one', 'late'), true],
  ])('counts from its start where %s: never too few', async (_, live, dies) => {
    expect(await started(live, dies)).toBe(false);
  });
});

test('a request that would be refused waits for the answer', async () => {
  await using store = await openSqliteStore(':memory:');
  const clock = new FakeClock();
  await using one = running(store, clock, 'one', replicas('one'));
  await pass(clock, store, 1000);
  expect(await spend(one, 600)).toBe(600);
  await pass(clock, store, 61_000);
  await using late = running(store, clock, 'late', replicas('one', 'late'));
  const decision = late.window.charge('a');
  expect(await decision, 'at the instant of its start').toMatchObject({ admitted: true });
});

test('the questions of a replica that died are removed by the next one that asks', async () => {
  await using store = await openSqliteStore(':memory:');
  const clock = new FakeClock();
  for (const key of [
    KEYS.rateQuestion('dead', 1),
    `${KEYS.rateQuestion('dead', 1)}/one`,
    KEYS.rateQuestion('live', 1),
  ]) {
    await store.commit({ expect: [expectAbsent(key)], write: [{ put: rawKey(key), value: '{}' }], quiet: true });
  }
  await using _ = running(store, clock, 'late', replicas('live', 'late'));
  const keys = async (): Promise<readonly string[]> =>
    (await entriesOf(store, KEYS.rateQuestion.under())).map(({ key }) => key);
  await until(async () => (await keys()).every((key) => !key.includes('dead')));
  expect(await keys()).toContain(KEYS.rateQuestion('live', 1));
});

test('two replicas learn how far their wall clocks are apart, anew every 30 s', async () => {
  await using store = await openSqliteStore(':memory:');
  const clock = new FakeClock();
  const ahead: Clock = {
    now: () => clock.now() + 1000,
    monotonic: () => clock.monotonic() + 12_345,
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
  const live = replicas('right', 'ahead');
  heard.length = 0;
  await using both = new AsyncDisposableStack();
  both.use(running(store, clock, 'right', live));
  await pass(clock, store, 1000);
  both.use(running(store, ahead, 'ahead', live));
  // Each has one question under way, and no time passes.
  await until(() => heard.length === 2);
  expect(heard.toSorted(([one], [other]) => one.localeCompare(other))).toEqual([
    ['ahead', 'right', -1000],
    ['right', 'ahead', 1000],
  ]);
  for (let ms = 0; ms < 65_000; ms += 500) {
    clock.advance(500);
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  }
  // The clock of the test goes on while a question is under way: the bound is looser by that, and never wrong.
  const skews = heard.filter(([by]) => by === 'right').map(([, , skewMs]) => skewMs);
  expect(skews.length).toBeGreaterThanOrEqual(2);
  expect(Math.min(...skews)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...skews)).toBeLessThanOrEqual(1000);
});
