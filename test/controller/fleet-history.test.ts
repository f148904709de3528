import { afterEach, beforeEach, expect, test } from 'vitest';
import { fleetHistoryReconciler, rolloutReconciler } from '../../src/controller/rollout.ts';
import { createListening, type Listening } from '../../src/domain/devices/listening.ts';
import { createFleetHistory } from '../../src/domain/fleet-history/fleet-history.ts';
import { readFleetSeries } from '../../src/domain/fleet-history/series.ts';
import { FleetMemory } from '../../src/domain/fleet/memory.ts';
import { put } from '../../src/domain/records/codec.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import type { AppRecord } from '../../src/domain/records/app-records.ts';
import { createMetrics } from '../../src/metrics/service-metrics.ts';
import { expectAbsent, expectHeld, type Put, type Store } from '../../src/store/port.ts';
import { HOUR_MS } from '../../src/time/utc-days.ts';
import { ACCOUNT, OTHER_ACCOUNT } from '../support/records/audit.ts';
import { rawKey } from '../support/store/raw-key.ts';
import { onEachStore } from '../support/store/stores.ts';
import { FakeClock } from '../support/time/fake-clock.ts';

const NOON = Date.UTC(2026, 5, 1, 12);
const STALE_MS = 180_000;

onEachStore('the loops that keep the fleet over time', (stores) => {
  let store: Store;
  let clock: FakeClock;
  let memory: FleetMemory;
  beforeEach(async () => {
    store = await stores.open();
    clock = new FakeClock(NOON);
    memory = new FleetMemory({ onUnreadable: (error) => expect.fail(String(error)) });
  });
  afterEach(() => store[Symbol.asyncDispose]());

  /** Puts records into memory as the watch would. */
  const remember = (...records: Put[]): void => {
    for (const { put: key, value } of records) memory.put({ key: rawKey(key), value, revision: 1 });
  };
  function account(
    id: string,
    apps: Partial<AppRecord>[],
    entitlement: 'enterprise' | 'standard' = 'enterprise',
  ): void {
    remember(put(KEYS.account(id), { name: '', entitlement, disabled: false, createdAt: 0 }));
    for (const [slot, more] of apps.entries()) {
      const key = KEYS.app(id, `app${slot}`);
      const record = { name: '', status: 'active', statusAt: 0, createdAt: 0, slot, platform: '' } as const;
      const enrolled = {
        agentVersion: '',
        connection: 'cloud',
        enrolledAt: clock.now(),
        codes: [],
        spent: [],
      } as const;
      remember(put(key, { ...record, ...enrolled, ...more }));
    }
  }
  /** The loops of one term, whose fence is the leader's key; a term that is over leaves the key to the next one. */
  async function term(listening: Pick<Listening, 'forMs'> = { forMs: () => STALE_MS }) {
    const held = await store.hold(KEYS.leader(), 'r', 60_000);
    if (held === 'taken') expect.unreachable('the term before is over');
    const abort = new AbortController();
    const fleetHistory = createFleetHistory(
      { store, clock, clockWatch: { trusted: () => true }, listening, staleAfterMs: STALE_MS },
      [expectHeld(KEYS.leader(), held)],
    );
    const rollout = rolloutReconciler(
      {
        store,
        clock,
        fleetHistory,
        transitions: { begin: async () => undefined },
        fleet: { memory },
        metrics: createMetrics('test'),
        accountRollouts: { counted: () => undefined },
        pollIntervalSeconds: 60,
        metricsAccounts: false,
      },
      { signal: abort.signal },
    );
    const write = fleetHistoryReconciler({ fleetHistory });
    return {
      count: async () => await rollout.reconcile(abort.signal),
      write: async () => await write.reconcile(abort.signal),
      async over(): Promise<void> {
        abort.abort();
        await held.release();
      },
    };
  }
  const points = async (accountId = ACCOUNT) =>
    (await readFleetSeries(store, accountId, '24h', clock.now())).points.map(({ at, active, silent, failed }) => [
      (at - NOON) / HOUR_MS,
      active,
      silent,
      failed,
    ]);

  test('count as the overview does, for accounts without a configuration or an acknowledgement too', async () => {
    account(ACCOUNT, [{}, { enrolledAt: NOON - 180_001 }, { status: 'pending' }, { status: 'revoked' }, {}]);
    remember(put(KEYS.otel(ACCOUNT), { revision: 3, tag: 'tag', at: 0 }));
    const ack = put(KEYS.ack(ACCOUNT, 'app4'), { revision: 3, status: 'failed', at: NOON });
    await store.commit({ expect: [expectAbsent('none')], write: [ack], quiet: true });
    account(OTHER_ACCOUNT, [{ connection: 'private' }, { enrolledAt: NOON - 180_000 }], 'standard');
    memory.settled();
    const { count, write } = await term();
    await count();
    await write();
    expect(await points()).toEqual([[0, 3, 1, 1]]);
    expect(await points(OTHER_ACCOUNT)).toEqual([[0, 2, 0, 0]]);
  });

  test('leave an hour to the next leader: counted once, whoever leads, and a gap where nobody led', async () => {
    account(ACCOUNT, [{}]);
    memory.settled();
    const first = await term();
    await first.count();
    await first.over();
    // It wrote nothing any more: its successor counts the same hour, and a count that was lost is not missing.
    await first.write();
    expect(await points()).toEqual([]);
    const second = await term();
    await second.count();
    await second.write();
    account(ACCOUNT, [{}, {}]);
    await second.over();
    const third = await term();
    await third.count();
    await third.write();
    expect(await points()).toEqual([[0, 1, 0, 0]]);
    clock.advance(2 * HOUR_MS);
    await third.count();
    await third.write();
    expect(await points()).toEqual([
      [0, 1, 0, 0],
      [2, 2, 2, 0],
    ]);
  });

  test('count at once in the term of a replica that was listening, and later in that of one that has just begun', async () => {
    account(ACCOUNT, [{}, { enrolledAt: NOON - HOUR_MS }]);
    memory.settled();
    const standby = createListening(clock, STALE_MS);
    standby.answered();
    for (let waited = 0; waited < STALE_MS; waited += STALE_MS / 6) {
      clock.advance(STALE_MS / 6);
      standby.answered();
    }
    const begun = createListening(clock, STALE_MS);
    begun.answered();
    const first = await term(begun);
    await first.count();
    await first.write();
    expect(await points()).toEqual([]);
    await first.over();
    const second = await term(standby);
    await second.count();
    await second.write();
    expect(await points()).toEqual([[0, 2, 1, 0]]);
  });
});
