import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Reconciler } from '../../../src/controller/loop.ts';
import { rolloutReconciler } from '../../../src/controller/rollout.ts';
import { packLastSeen } from '../../../src/domain/fleet/last-seen-codec.ts';
import { FleetMemory } from '../../../src/domain/fleet/memory.ts';
import { appEntry, type AppEntry } from '../../../src/domain/fleet/reader.ts';
import type { CountedRollouts } from '../../../src/domain/rollouts/account-rollouts.ts';
import { rolloutTotals } from '../../../src/domain/rollouts/rollout-totals.ts';
import { deliveriesOf } from '../../../src/domain/rollouts/deliveries.ts';
import { rolloutOf, staleAfterMs, type RolloutFacts } from '../../../src/domain/rollouts/rollout.ts';
import { createRollouts } from '../../../src/domain/rollouts/rollouts.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { OpampAgentRecord } from '../../../src/domain/records/opamp-records.ts';
import type { AckRecord, AppRecord } from '../../../src/domain/records/app-records.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { expectAbsent, expectUnchanged, type Put, type Store } from '../../../src/store/port.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { foundAt } from '../../support/store/snapshots.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const NOW = Date.UTC(2026, 5, 1, 12);
const STALE_MS = 180_000;
const REVISION = 7;

const record = (slot: number, more: Partial<AppRecord> = {}): AppRecord => ({
  name: '',
  status: 'active',
  statusAt: 0,
  createdAt: 0,
  slot,
  platform: '',
  agentVersion: '',
  connection: 'cloud',
  enrolledAt: NOW,
  codes: [],
  spent: [],
  ...more,
});
const app = (slot: number, more: Partial<AppRecord> = {}): AppEntry =>
  appEntry(`app-${String(slot).padStart(3, '0')}`, 'account', foundAt(1, record(slot, more)));
const ack = (more: Partial<AckRecord> = {}): AckRecord => ({ revision: REVISION, status: 'applied', at: NOW, ...more });

interface Device {
  readonly app?: Partial<AppRecord>;
  readonly seen?: number;
  readonly ack?: Partial<AckRecord>;
}
function factsOf(devices: readonly Device[], more: Partial<RolloutFacts> = {}): RolloutFacts {
  const apps = devices.map((device, slot) => app(slot, device.app));
  return {
    entitlement: 'enterprise',
    revision: REVISION,
    apps,
    seen: new Map(devices.flatMap(({ seen }, slot) => (seen === undefined ? [] : [[slot, seen] as const]))),
    acks: new Map(
      devices.flatMap((device, slot) => (device.ack ? [[apps[slot]?.id ?? '', ack(device.ack)] as const] : [])),
    ),
    now: NOW,
    staleAfterMs: STALE_MS,
    ...more,
  };
}

describe('where one device is', () => {
  const long = { enrolledAt: NOW - 10 * STALE_MS };
  test.each<[Device, 'applied' | 'failed' | 'pending' | 'stale' | undefined, string]>([
    [{ ack: {} }, 'applied', 'it says so'],
    [{ ack: { status: 'failed' } }, 'failed', 'it says so'],
    [{ app: long, ack: {} }, 'applied', 'silent since, but it has applied it'],
    [{ app: long, ack: { status: 'failed' } }, 'failed', 'silent since it failed'],
    [{}, 'pending', 'just enrolled'],
    [{ ack: { revision: REVISION - 1 } }, 'pending', 'of the revision before'],
    [{ ack: { revision: REVISION - 1, status: 'failed' } }, 'pending', 'failed with the one before'],
    [{ ack: { revision: REVISION + 1 } }, 'pending', 'of another history'],
    [{ app: long, ack: { revision: REVISION - 1 } }, 'stale', 'of the revision before, and silent since'],
    [{ app: { enrolledAt: NOW - STALE_MS } }, 'pending', 'never polled, just not too long ago'],
    [{ app: { enrolledAt: NOW - STALE_MS - 1 } }, 'stale', 'never polled, a millisecond longer'],
    [{ app: long, seen: NOW - STALE_MS }, 'pending', 'polled just not too long ago'],
    [{ app: long, seen: NOW - STALE_MS - 1 }, 'stale', 'a millisecond longer'],
    [{ seen: NOW - 10 * STALE_MS }, 'pending', 'enrolled anew after its last poll'],
    [{ app: { connection: 'private' }, ack: {} }, undefined, 'private: it is told nothing'],
    [{ app: { status: 'revoked' }, ack: {} }, undefined, 'cut off'],
    [{ app: { status: 'pending' } }, undefined, 'not enrolled yet'],
  ])('%j → %s (%s)', (device, state) => {
    const { applied, failed, pending, stale, devices } = rolloutOf(factsOf([device]));
    const counts = { applied: 0, failed: 0, pending: 0, stale: 0, ...(state !== undefined && { [state]: 1 }) };
    expect({ applied, failed, pending, stale }).toEqual(counts);
    expect(devices).toBe(state === undefined ? 0 : 1);
    expect(deliveriesOf(factsOf([device])).map((one) => one.state)).toEqual(state === undefined ? [] : [state]);
  });
});

test('what each daemon does, with its words: a failure goes before the health of its agent', () => {
  const devices: readonly Device[] = [
    { ack: {} },
    { ack: {} },
    { ack: { status: 'failed', error: 'no such exporter' } },
    { app: { connection: 'private' } },
    { app: { status: 'revoked' } },
    { app: { connection: 'private' } },
  ];
  const sick: OpampAgentRecord = { instances: [], health: { healthy: false, error: 'out of memory', at: 2 } };
  const agents = new Map([1, 2, 3, 4].map((slot) => [app(slot).id, sick]));
  const told = { state: 'unhealthy', error: 'out of memory' };
  expect(deliveriesOf(factsOf(devices, { agents }))).toEqual([
    { appId: app(0).id, state: 'applied' },
    { appId: app(1).id, ...told },
    { appId: app(2).id, state: 'failed', error: 'no such exporter' },
    { appId: app(3).id, ...told },
  ]);
  expect(deliveriesOf(factsOf(devices, { entitlement: 'standard' }))).toEqual([]);
});

test('an account that is not Enterprise rolls out to nobody, but keeps its revision', () => {
  const facts = factsOf([{ ack: { status: 'failed' } }, {}], { entitlement: 'standard' });
  expect(rolloutOf(facts)).toEqual({
    revision: REVISION,
    devices: 0,
    applied: 0,
    failed: 0,
    pending: 0,
    stale: 0,
    failures: [],
    failuresByError: [],
    acknowledged: [],
    health: { healthy: 0, unhealthy: 0 },
    unhealthy: [],
  });
});

test('who runs what, and how the agents are', () => {
  const devices: readonly Device[] = [
    { ack: {} },
    { ack: { revision: REVISION - 1 } },
    { ack: { status: 'failed', error: 'unknown exporter' } },
    { ack: { status: 'failed' } },
    {},
    { app: { status: 'revoked' }, ack: {} },
  ];
  const said = (more: Partial<OpampAgentRecord>): OpampAgentRecord => ({ instances: [], ...more });
  const agents = new Map([
    [app(1).id, said({ health: { healthy: true, at: 1 } })],
    [app(2).id, said({ failed: `${REVISION}-tag~template`, health: { healthy: false, error: 'down', at: 2 } })],
    [app(3).id, said({ failed: `${REVISION - 1}-tag~template` })],
    [app(5).id, said({ health: { healthy: false, at: 3 } })],
  ]);
  expect(rolloutOf(factsOf(devices, { agents }))).toMatchObject({
    acknowledged: [
      { revision: REVISION, applied: 1, failed: 2 },
      { revision: REVISION - 1, applied: 1, failed: 0 },
    ],
    failures: [
      { appId: app(2).id, emptied: true },
      { appId: app(3).id, emptied: false },
    ],
    health: { healthy: 1, unhealthy: 1 },
    unhealthy: [{ appId: app(2).id, name: '', error: 'down', at: 2 }],
  });
});

test('the newest 20 failures are named, newest first, and all are counted', () => {
  const devices = Array.from({ length: 25 }, (_, i): Device => ({
    app: { name: `edge ${i}` },
    ack: { status: 'failed', at: NOW + (i % 5), ...(i % 2 === 0 && { error: `no ${i}` }) },
  }));
  const { failed, failures } = rolloutOf(factsOf([...devices, { ack: {} }]));
  expect(failed).toBe(25);
  expect(failures).toHaveLength(20);
  const sorted = devices
    .map(({ ack: told }, i) => ({
      appId: app(i).id,
      name: `edge ${i}`,
      error: told?.error ?? '',
      at: told?.at ?? 0,
      emptied: false,
    }))
    .toSorted((a, b) => b.at - a.at || (a.appId < b.appId ? -1 : 1));
  expect(failures).toEqual(sorted.slice(0, 20));
});

test('the four add up to the devices, in whatever order they come', () => {
  const device = fc.record(
    {
      app: fc.record(
        {
          status: fc.constantFrom('active', 'active', 'active', 'pending', 'revoked'),
          connection: fc.constantFrom('cloud', 'cloud', 'private'),
          enrolledAt: fc.integer({ min: NOW - 3 * STALE_MS, max: NOW }),
        },
        { requiredKeys: [] },
      ),
      seen: fc.integer({ min: NOW - 3 * STALE_MS, max: NOW }),
      ack: fc.record({
        revision: fc.integer({ min: REVISION - 1, max: REVISION + 1 }),
        status: fc.constantFrom('applied', 'failed'),
      }),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<Device>;
  fc.assert(
    fc.property(fc.array(device, { maxLength: 40 }), (devices) => {
      const facts = factsOf(devices);
      const rollout = rolloutOf(facts);
      const { applied, failed, pending, stale } = rollout;
      expect(applied + failed + pending + stale).toBe(rollout.devices);
      expect(rollout.failures).toHaveLength(Math.min(failed, 20));
      expect(rolloutOf({ ...facts, apps: facts.apps.toReversed() })).toEqual(rollout);
    }),
  );
});

test.each([
  [60, 180_000, 'three polls'],
  [86_400, 259_200_000, 'of a day, too'],
  [41, 123_000, 'just above the least'],
  [40, 120_000, 'the least: last contacts may be a minute behind'],
  [1, 120_000, 'however often a fleet polls'],
])('with a poll every %i s a device is stale after %i ms (%s)', (seconds, ms) => {
  expect(staleAfterMs(seconds)).toBe(ms);
});

onEachStore('the leader’s totals', (stores) => {
  let clock: FakeClock;
  let store: FaultyStore;
  let memory: FleetMemory;
  let term: AbortController;
  let loop: Reconciler;
  let registry: ReturnType<typeof createMetrics>['registry'];
  let counted: CountedRollouts | undefined;
  beforeEach(async () => {
    clock = new FakeClock(NOW);
    store = faultyStore(await stores.open());
    memory = new FleetMemory({ onUnreadable: (error) => expect.fail(String(error)) });
    term = new AbortController();
    const metrics = createMetrics('test');
    ({ registry } = metrics);
    const accountRollouts = { counted: (rollouts: CountedRollouts | undefined) => void (counted = rollouts) };
    const fleetHistory = { due: () => undefined, counted: () => expect.unreachable('nothing was due') };
    const config = { pollIntervalSeconds: 60, metricsAccounts: true };
    const transitions = { begin: async () => undefined };
    const deps = { store, fleet: { memory }, clock, metrics, accountRollouts, fleetHistory, transitions, ...config };
    loop = rolloutReconciler(deps, term);
  });
  afterEach(() => store[Symbol.asyncDispose]());

  const gauges = async (): Promise<Record<string, number>> => {
    const { values } = (await registry.getSingleMetric('muster_rollout_devices')?.get()) ?? { values: [] };
    return Object.fromEntries(values.map(({ labels, value }) => [String(labels['state']), value]));
  };
  /** Puts records into memory as the directory would. */
  const remember = (...records: Put[]): void => {
    for (const { put: key, value } of records) memory.put({ key: rawKey(key), value, revision: 1 });
  };
  const accountId = (number: number): string => `account${String(number).padStart(9, '0')}`;
  function account(
    number: number,
    { entitlement = 'enterprise' as 'enterprise' | 'standard', revision = 3, apps = 0 },
  ): void {
    const id = accountId(number);
    remember(put(KEYS.account(id), { name: '', entitlement, disabled: false, createdAt: 0 }));
    if (revision > 0) remember(put(KEYS.otel(id), { revision, tag: 'tag', at: 0 }));
    for (let slot = 0; slot < apps; slot += 1) remember(put(KEYS.app(id, app(slot).id), record(slot)));
  }
  async function acknowledge(into: Store, number: number, slots: readonly number[], more: object): Promise<void> {
    for (let from = 0; from < slots.length; from += 100) {
      const write = slots
        .slice(from, from + 100)
        .map((slot) => put(KEYS.ack(accountId(number), app(slot).id), ack({ revision: 3, ...more })));
      const expectation = expectAbsent('none');
      expect((await into.commit({ expect: [expectation], write, quiet: true })).outcome).toBe('committed');
    }
  }
  const upTo = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);

  test('add up over accounts and pages; others than Enterprise ones with a configuration do not count', async () => {
    account(1, { apps: 700 });
    account(2, { apps: 600 });
    account(3, { apps: 5, entitlement: 'standard' });
    account(4, { apps: 5, revision: 0 });
    account(5, { apps: 7 });
    account(6, { apps: 1 });
    remember(put(KEYS.lastSeen(accountId(6)), { packed: packLastSeen(new Map([[0, NOW]])) }));
    await acknowledge(store, 1, upTo(650), {});
    await acknowledge(store, 2, upTo(300), { status: 'failed' });
    await acknowledge(store, 2, upTo(100, 300), { revision: 2 });
    await acknowledge(store, 3, upTo(5), {});
    await acknowledge(store, 4, upTo(5), { revision: 0 });
    await acknowledge(store, 9, upTo(5), {});
    memory.settled();
    await loop.reconcile(term.signal);
    expect(await gauges()).toEqual({ applied: 650, failed: 300, pending: 50 + 300 + 7 + 1, stale: 0 });
    const account2 = { accountId: accountId(2), revision: 3, applied: 0, failed: 300, pending: 300, stale: 0 };
    expect(counted).toMatchObject({ countedAt: clock.now(), failing: 1 });
    expect(counted?.accounts.filter(({ failed }) => failed > 0)).toEqual([account2]);
    expect(counted?.accounts.map((one) => one.accountId).toSorted()).toEqual([1, 2, 5, 6].map(accountId));
    // 650 + 400 + 15 acknowledgements in pages of 500.
    expect(store.calls.list).toBe(3);
    clock.advance(180_001);
    await loop.reconcile(term.signal);
    expect(await gauges()).toEqual({ applied: 650, failed: 300, pending: 0, stale: 358 });
  });

  test('pass over an acknowledgement that cannot be read: it says nothing of its device', async () => {
    account(1, { apps: 3 });
    await acknowledge(store, 1, upTo(3), {});
    const [, unread] = (await store.list({ prefix: KEYS.ack.under(), limit: 3 })).entries;
    if (!unread) expect.unreachable();
    const value = unread.value.replace('applied', 'half-applied');
    await store.commit({ expect: [expectUnchanged(unread)], write: [{ put: unread.key, value }], quiet: true });
    memory.settled();
    await loop.reconcile(term.signal);
    expect(await gauges()).toEqual({ applied: 2, failed: 0, pending: 1, stale: 0 });
    const fleet = {
      memory,
      current: () => memory,
      currentDeferred: () => memory,
      whole: async () => memory,
      catchingUp: () => () => true,
      revision: async () => 0,
      newestInstant: () => 0,
    };
    const { applied, pending } = await createRollouts({ store, fleet, clock }, 60).of(accountId(1));
    expect([applied, pending]).toEqual([2, 1]);
  });

  test('are none where there is nothing, and are shown as such', async () => {
    memory.settled();
    await loop.reconcile(term.signal);
    expect(await gauges()).toEqual({ applied: 0, failed: 0, pending: 0, stale: 0 });
  });

  test('wait for memory; and end with the term, in the middle of a round too', async () => {
    account(1, { apps: 600 });
    await acknowledge(store, 1, upTo(600), {});
    const first = loop.reconcile(term.signal);
    expect(store.calls.list).toBe(0);
    memory.settled();
    clock.advance(1000);
    await first;
    expect(await gauges()).toMatchObject({ applied: 600 });

    store.intercept('list', 'after', async () => term.abort());
    const lists = store.calls.list;
    await loop.reconcile(term.signal);
    expect(store.calls.list - lists).toBe(1);
    expect([await gauges(), counted]).toEqual([{}, undefined]);
  });

  // So few accounts that these alone would make no pause, and more devices than are counted without one.
  const DEVICES = 250;
  test.each([
    [1, 'each with an acknowledgement, all of them on one page'],
    [0, 'none with one'],
  ])('pause by devices, not by accounts alone: 24 of 250 devices (%i: %s)', async (acknowledged) => {
    for (let number = 0; number < 24; number += 1) {
      account(number, { apps: DEVICES });
      await acknowledge(store, number, upTo(acknowledged), {});
    }
    memory.settled();
    const counted: number[] = [];
    let sincePause = 0;
    const now = (): number => {
      sincePause += DEVICES;
      return clock.now();
    };
    const sleep = async (): Promise<void> => {
      counted.push(sincePause);
      sincePause = 0;
    };
    const counting = { now, monotonic: () => clock.monotonic(), sleep };
    const total = await rolloutTotals({ store, memory, clock: counting }, 180_000, term.signal);
    expect(total?.devices).toEqual({
      applied: 24 * acknowledged,
      failed: 0,
      pending: 24 * (DEVICES - acknowledged),
      stale: 0,
    });
    expect(Math.max(...counted, sincePause)).toBeLessThanOrEqual(5000);
  });

  test('of a memory that is dropped meanwhile are not shown', async () => {
    account(1, { apps: 3 });
    memory.settled();
    await loop.reconcile(term.signal);
    store.intercept('list', 'after', async () => memory.clear());
    await expect(loop.reconcile(term.signal)).rejects.toThrow('Memory is being filled anew.');
    expect(await gauges()).toMatchObject({ pending: 3 });
  });

  test('nor where it is dropped between two accounts without acknowledgements', async () => {
    for (let number = 0; number < 150; number += 1) account(number, { apps: 1 });
    memory.settled();
    const deps = { store, memory, clock };
    expect(await rolloutTotals(deps, 180_000, term.signal)).toMatchObject({ devices: { pending: 150 } });
    const pause = async (): Promise<void> => memory.clear();
    const dropping = { now: () => clock.now(), monotonic: () => clock.monotonic(), sleep: pause };
    const round = rolloutTotals({ ...deps, clock: dropping }, 180_000, term.signal);
    await expect(round).rejects.toThrow('Memory is being filled anew.');
  });
});
