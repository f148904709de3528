import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createHeartbeats, paceAfter, type Heartbeats } from '../../../src/domain/devices/heartbeats.ts';
import { lastSeenIn, packLastSeen, unpackLastSeen } from '../../../src/domain/fleet/last-seen-codec.ts';
import { FleetMemory } from '../../../src/domain/fleet/memory.ts';
import { appEntry, type AppEntry } from '../../../src/domain/fleet/reader.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { expectAsFound, StoreUnavailable, type Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { foundAt } from '../../support/store/snapshots.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const ACCOUNT = 'abcdefgh12345678';
const ACCOUNT_RECORD = KEYS.account.schema.parse({ name: 'a', entitlement: 'standard', disabled: false, createdAt: 1 });

let store: Store;
let memory: FleetMemory;
let heartbeats: Heartbeats;
beforeEach(async () => {
  store = await openSqliteStore(':memory:');
  memory = new FleetMemory({ onUnreadable: (error) => expect.unreachable(String(error)) });
  memory.put({ key: KEYS.account(ACCOUNT), value: JSON.stringify(ACCOUNT_RECORD), revision: 1 });
  memory.settled();
  heartbeats = createHeartbeats({
    store,
    memory,
    clock: new FakeClock(),
    log: createLog('silent'),
    metrics: createMetrics('test'),
    listening: { failed: () => undefined },
  });
});
afterEach(() => store[Symbol.asyncDispose]());

/** An app that memory holds. */
function app(slot: number): AppEntry {
  const id = String(slot).padStart(20, 'a');
  const state = { name: '', status: 'active', statusAt: 1, createdAt: 1, slot, platform: '', agentVersion: '' };
  const record = KEYS.app.schema.parse({ ...state, connection: 'cloud', codes: [], spent: [] });
  memory.put({ key: KEYS.app(ACCOUNT, id), value: JSON.stringify(record), revision: 2 });
  return appEntry(id, ACCOUNT, foundAt(2, record));
}

/** Writes as another replica would; memory learns of it only if told. */
async function writtenElsewhere(contacts: readonly (readonly [number, number])[], learn: boolean): Promise<void> {
  const expectation = expectAsFound(KEYS.lastSeen(ACCOUNT), await store.get(KEYS.lastSeen(ACCOUNT)));
  const write = put(KEYS.lastSeen(ACCOUNT), { packed: packLastSeen(new Map(contacts)) });
  await store.commit({ expect: [expectation], write: [write], quiet: true });
  const entry = await store.get(KEYS.lastSeen(ACCOUNT));
  if (learn && entry) memory.put(entry);
}

async function stored(): Promise<unknown> {
  const entry = await store.get(KEYS.lastSeen(ACCOUNT));
  return entry && [...unpackLastSeen((JSON.parse(entry.value) as { packed: string }).packed)];
}

test('a round writes one record for all devices of an account, and nothing more when nobody came', async () => {
  for (const slot of [0, 1, 2]) heartbeats.seen(app(slot), 1000 + slot);
  expect(await heartbeats.flush()).toBeGreaterThan(0);
  expect(await stored()).toEqual([
    [0, 1000],
    [1, 1001],
    [2, 1002],
  ]);
  expect(await heartbeats.flush()).toBe(0);
});

test('the latest of several contacts counts, in whatever order they came', async () => {
  const one = app(0);
  for (const at of [1000, 3000, 2000]) heartbeats.seen(one, at);
  await heartbeats.flush();
  expect(await stored()).toEqual([[0, 3000]]);
});

test('a contact that is older than the record moves nothing and writes nothing', async () => {
  await writtenElsewhere([[0, 5000]], true);
  heartbeats.seen(app(0), 4999);
  expect(await heartbeats.flush()).toBe(0);
  heartbeats.seen(app(0), 5001);
  await heartbeats.flush();
  expect(await stored()).toEqual([[0, 5001]]);
});

test.each([
  [false, 'of which memory does not know yet'],
  [true, 'of which it does'],
])('is merged with the round of another replica, in the same round (%s: %s)', async (learned) => {
  const [one, other] = [app(0), app(1)];
  await writtenElsewhere(
    [
      [0, 9000],
      [1, 1000],
    ],
    learned,
  );
  heartbeats.seen(one, 5000);
  heartbeats.seen(other, 5000);
  await heartbeats.flush();
  expect(await stored()).toEqual([
    [0, 9000],
    [1, 5000],
  ]);
});

test('the place of an app that is gone is cleared away', async () => {
  await writtenElsewhere(
    [
      [0, 1000],
      [7, 1000],
    ],
    true,
  );
  heartbeats.seen(app(0), 2000);
  await heartbeats.flush();
  expect(await stored()).toEqual([[0, 2000]]);
});

test('while memory is filled anew nothing is written, since the apps that are missing may be yet to come', async () => {
  const one = app(0);
  await writtenElsewhere(
    [
      [0, 1000],
      [1, 1000],
    ],
    false,
  );
  memory.clear();
  memory.put({ key: KEYS.account(ACCOUNT), value: JSON.stringify(ACCOUNT_RECORD), revision: 1 });
  heartbeats.seen(app(0), 2000);
  expect(await heartbeats.flush()).toBe(0);
  app(1);
  memory.settled();
  heartbeats.seen(one, 1500);
  await heartbeats.flush();
  expect(await stored()).toEqual([
    [0, 2000],
    [1, 1000],
  ]);
});

test('contacts that a store in trouble did not take are written in a later round', async () => {
  const one = app(0);
  const commit = store.commit.bind(store);
  store.commit = () => Promise.reject(new Error('out of order'));
  heartbeats.seen(one, 2000);
  expect(await heartbeats.flush()).toBe(0);
  heartbeats.seen(one, 1500);
  store.commit = commit;
  await heartbeats.flush();
  expect(await stored()).toEqual([[0, 2000]]);
});

test.each([
  ['a small round', 1000, 2000, { everyMs: 10_000, pauseMs: 8000 }],
  ['a round of just 1 MiB', 1_048_576, 2000, { everyMs: 10_000, pauseMs: 8000 }],
  ['a larger one', 1_048_577, 2000, { everyMs: 20_000, pauseMs: 18_000 }],
  ['a round of a million devices', 8_000_000, 10_000, { everyMs: 50_000, pauseMs: 40_000 }],
  ['a round that a slow store made longer than its time', 1000, 30_000, { everyMs: 10_000, pauseMs: 5000 }],
])('the pace after %s', (_, bytes, tookMs, pace) => {
  expect(paceAfter(bytes, tookMs)).toEqual(pace);
});

describe('many accounts on a store in trouble', () => {
  const MANY = 500;
  const accountIds = Array.from({ length: MANY }, (_, n) => `account${String(n).padStart(9, '0')}`);

  function many() {
    const clock = new FakeClock();
    const faulty = faultyStore(store);
    const logged: string[] = [];
    const log = createLog('info', { write: (line) => void logged.push(line) });
    const listening = { failures: 0, failed: () => void (listening.failures += 1) };
    const beats = createHeartbeats({ store: faulty, memory, clock, log, metrics: createMetrics('test'), listening });
    const { record } = app(0);
    const fill = (): void => {
      for (const accountId of accountIds) {
        memory.put({ key: KEYS.account(accountId), value: JSON.stringify(ACCOUNT_RECORD), revision: 1 });
        memory.put({ key: KEYS.app(accountId, 'a'.repeat(20)), value: JSON.stringify(record), revision: 2 });
      }
    };
    fill();
    for (const accountId of accountIds) beats.seen(appEntry('a'.repeat(20), accountId, foundAt(2, record)), 1000);
    return { clock, faulty, logged, beats, listening, fill };
  }

  test('a round ends at the first outage, says so once, and leaves everything to the next', async () => {
    const { faulty, logged, beats, listening } = many();
    faulty.outage(true);
    expect(await beats.flush()).toBe(0);
    expect(faulty.calls.commit).toBeLessThanOrEqual(16);
    expect(logged).toHaveLength(1);
    faulty.outage(false);
    faulty.calls.commit = 0;
    await beats.flush();
    expect(faulty.calls.commit).toBe(MANY);
    expect(await beats.flush()).toBe(0);
    expect(listening.failures).toBe(1);
  });

  test('the fault of one record alone does not keep the others from being written', async () => {
    const { faulty, logged, beats, listening } = many();
    const commit = faulty.commit.bind(faulty);
    faulty.commit = (change) =>
      change.expect[0].key === KEYS.lastSeen(accountIds[MANY - 1] ?? '')
        ? Promise.reject(new StoreUnavailable('failed', 'commit: this one alone'))
        : commit(change);
    await beats.flush();
    expect(faulty.calls.commit).toBe(MANY - 1);
    expect(logged).toHaveLength(1);
    expect(listening.failures).toBe(0);
  });

  test('the last round is waited for no longer than its bound, and begins nothing after it', async () => {
    const { clock, faulty, beats } = many();
    const release = faulty.stall('commit');
    const finished = beats.finish();
    await until(() => faulty.calls.commit === 16);
    clock.advance(LIMITS.heartbeatFinishMs);
    await finished;
    release();
    await store.head();
    expect(faulty.calls.commit).toBe(16);
    expect(clock.sleeping).toBe(0);
  });

  test('the last round of a store that is well writes everything, and leaves no timer', async () => {
    const { clock, faulty, beats } = many();
    await beats.finish();
    expect(faulty.calls.commit).toBe(MANY);
    expect(clock.sleeping).toBe(0);
  });

  test('a round of many accounts is spread over a fifth of the time until the next one, and all of it is written', async () => {
    const { clock, faulty, beats } = many();
    const stopping = new AbortController();
    const running = beats.run(stopping.signal);
    clock.advance(LIMITS.heartbeatFlushMs);
    // Sixteen accounts are due every 64 ms; this clock lets pauses of less than 100 ms pass at once.
    await until(() => faulty.calls.commit === 32 && clock.sleeping > 0);
    clock.advance(LIMITS.heartbeatFlushMs / 10);
    await until(() => faulty.calls.commit === 288 && clock.sleeping > 0);
    clock.advance(LIMITS.heartbeatFlushMs / 10);
    await until(() => faulty.calls.commit === MANY);
    stopping.abort();
    await running;
  });

  test('memory that is dropped between two accounts of a round costs no contact', async () => {
    const { clock, faulty, beats, fill } = many();
    const stopping = new AbortController();
    const running = beats.run(stopping.signal);
    clock.advance(LIMITS.heartbeatFlushMs);
    await until(() => faulty.calls.commit === 32 && clock.sleeping > 0);
    memory.clear();
    clock.advance(LIMITS.heartbeatFlushMs / 10);
    // Without the end of the round, what is due would be there by then.
    let looks = 0;
    await until(() => (looks += 1) > 50);
    expect(faulty.calls.commit).toBe(32);
    stopping.abort();
    await running;
    expect(await beats.flush()).toBe(0);
    fill();
    memory.settled();
    await beats.finish();
    expect(faulty.calls.commit).toBe(MANY);
  });

  test('a round under way when the process stops begins no further account', async () => {
    const { clock, faulty, beats } = many();
    const stopping = new AbortController();
    const running = beats.run(stopping.signal);
    const release = faulty.stall('commit');
    clock.advance(LIMITS.heartbeatFlushMs);
    await until(() => faulty.calls.commit === 16);
    stopping.abort();
    release();
    await running;
    expect(faulty.calls.commit).toBe(16);
    await beats.finish();
    expect(faulty.calls.commit).toBe(MANY);
  });
});

describe('senders', () => {
  const told = async (): Promise<unknown> => {
    const key = KEYS.lastSeen(ACCOUNT);
    return [...lastSeenIn(key, await store.get(key)).senders];
  };
  const learn = async (): Promise<void> => {
    const entry = await store.get(KEYS.lastSeen(ACCOUNT));
    if (entry) memory.put(entry);
  };

  test('are written with their contacts, and go with a later one that tells none', async () => {
    heartbeats.seen(app(0), 1000, 7);
    heartbeats.seen(app(1), 1000, 2 ** 33 - 1);
    heartbeats.seen(app(2), 1000);
    await heartbeats.flush();
    expect(await told()).toEqual([
      [0, 7],
      [1, 2 ** 33 - 1],
    ]);
    await learn();
    expect([...(memory.account(ACCOUNT)?.senders() ?? [])]).toEqual(await told());
    heartbeats.seen(app(0), 2000);
    heartbeats.seen(app(1), 500, 9);
    await heartbeats.flush();
    expect(await told()).toEqual([[1, 2 ** 33 - 1]]);
  });

  test('are kept by a replica that knows nothing of them, while their contacts are the last', async () => {
    heartbeats.seen(app(0), 1000, 7);
    heartbeats.seen(app(1), 1000, 8);
    await heartbeats.flush();
    // Memory is behind: the commit conflicts, and the record is read.
    heartbeats.seen(app(1), 3000);
    heartbeats.seen(app(2), 3000, 9);
    await heartbeats.flush();
    expect(await told()).toEqual([
      [0, 7],
      [2, 9],
    ]);
  });

  test('are the latest of ten minutes, at most as many as the limit has', async () => {
    heartbeats.seen(app(0), 1000, 1);
    await heartbeats.flush();
    await learn();
    const later = 1000 + LIMITS.sharingWindowMs;
    heartbeats.seen(app(1), later, 1);
    await heartbeats.flush();
    await learn();
    expect(await told()).toHaveLength(2);
    for (let slot = 2; slot < 80; slot += 1) heartbeats.seen(app(slot), later + slot, 1);
    await heartbeats.flush();
    const slots = ((await told()) as [number, number][]).map(([slot]) => slot);
    expect(slots).toEqual(Array.from({ length: LIMITS.sharingSendersMax }, (_, nth) => 16 + nth));
  });

  test('that could not be written are written with the next round', async () => {
    const faulty = faultyStore(store);
    faulty.down.add('commit');
    const round = createHeartbeats({
      store: faulty,
      memory,
      clock: new FakeClock(),
      log: createLog('silent'),
      metrics: createMetrics('test'),
      listening: { failed: () => undefined },
    });
    round.seen(app(0), 1000, 7);
    round.seen(app(1), 1000, 8);
    const flushed = round.flush();
    round.seen(app(1), 2000);
    await flushed;
    faulty.down.clear();
    await round.flush();
    expect(await told()).toEqual([[0, 7]]);
  });
});
