import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import type { FleetReader } from '../../../src/domain/fleet/reader.ts';
import { createAccountQueues, type CountersPlan } from '../../../src/domain/mutation/account-queue.ts';
import type { Origin } from '../../../src/domain/mutation/step.ts';
import { parseRecord, put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { Refusal } from '../../../src/domain/refusal.ts';
import { createLog } from '../../../src/log.ts';
import { createQuotas } from '../../../src/domain/quota/quotas.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { expectAbsent, type Store, type WatchBatch } from '../../../src/store/port.ts';
import { newId, replicaOn, write, type Replica } from '../../support/metering/metering.ts';
import { runs } from '../../support/run/effort.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { onEachStore, type Stores } from '../../support/store/stores.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { rawPut } from '../../support/store/raw-key.ts';

/** A store whose watch brings nothing while it lags, until somebody asks for `head`; it counts what is asked of it. */
class LaggingStore {
  readonly calls = { head: 0, commit: 0 };
  readonly store: Store;
  #lags = false;
  #held: (() => void)[] = [];

  constructor(store: Store) {
    this.store = wrappedStore(store, {
      head: async () => {
        this.calls.head += 1;
        const head = await store.head();
        this.#release();
        return head;
      },
      commit: (change) => {
        this.calls.commit += 1;
        return store.commit(change);
      },
      watch: (prefix, from, listener) =>
        store.watch(prefix, from, {
          onOpen: () => listener.onOpen(),
          onBatch: (batch: WatchBatch) => {
            if (this.#lags) this.#held.push(() => listener.onBatch(batch));
            else listener.onBatch(batch);
          },
          onEnd: (reason) => listener.onEnd(reason),
        }),
    });
  }

  set lags(on: boolean) {
    this.#lags = on;
    if (!on) this.#release();
  }

  #release(): void {
    for (const bring of this.#held.splice(0)) bring();
  }
}

class Process implements AsyncDisposable {
  readonly lagging: LaggingStore;
  readonly replica: Replica;
  readonly #queues: ReturnType<typeof createAccountQueues>;

  private constructor(lagging: LaggingStore, replica: Replica, clock: FakeClock) {
    this.lagging = lagging;
    this.replica = replica;
    this.#queues = createAccountQueues({
      store: lagging.store,
      fleet: replica.deps.fleet,
      clock,
      random: systemRandom(),
      log: createLog('silent'),
      metrics: createMetrics('test'),
      quotas: createQuotas({ fleet: replica.deps.fleet, clock, accountQuotaMb: 0 }),
    });
  }

  static async start(store: Store): Promise<Process> {
    const [lagging, clock] = [new LaggingStore(store), new FakeClock()];
    const process = new Process(lagging, await replicaOn(lagging.store, clock), clock);
    await process.replica.caughtUp();
    return process;
  }

  /** A reader of memory. On a slow machine memory may be behind at first, and the reader one of the store itself. */
  async reader(): Promise<FleetReader> {
    let reader = await this.replica.deps.fleet.current();
    await until(async () => reader.atOnce || (reader = await this.replica.deps.fleet.current()).atOnce);
    return reader;
  }

  queue<T>(accountId: string, plan: CountersPlan<T>, reader?: FleetReader): Promise<T> {
    return this.#queues(accountId, ORIGIN, plan, reader);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.replica[Symbol.asyncDispose]();
  }
}

const ORIGIN: Origin = { actor: 'test', requestId: 'test', at: 1, deadline: Number.POSITIVE_INFINITY };
const APPS_MAX = 3;
const appOf = (accountId: string, appId: string): object => ({
  name: appId,
  status: 'pending',
  statusAt: 1,
  createdAt: 1,
  slot: 0,
  platform: '',
  agentVersion: '',
  connection: 'private',
  codes: [],
  spent: [],
  accountId,
});

/** As a create of an app, with a smaller limit. */
const creation =
  (accountId: string, appId = newId()): CountersPlan<string> =>
  async (reader, counters) => {
    const account = await reader.account(accountId);
    if (!account) throw new Refusal('invalid_key');
    if (counters.apps >= APPS_MAX) throw new Refusal('limit_reached');
    const key = KEYS.app(accountId, appId);
    return {
      accountId,
      action: 'app.created',
      appId,
      expect: [expectAbsent(key), expectRevision(KEYS.account(accountId), account.revision)],
      write: [rawPut(key, appOf(accountId, appId))],
      counters: { ...counters, apps: counters.apps + 1, nextSlot: counters.nextSlot + 1 },
      result: appId,
    };
  };

const deletion =
  (accountId: string, appId: string): CountersPlan<string> =>
  async (reader, counters) => {
    const app = await (await reader.account(accountId))?.app(appId);
    if (!app) throw new Refusal('not_found');
    const key = KEYS.app(accountId, appId);
    return {
      accountId,
      action: 'app.deleted',
      appId,
      expect: [expectRevision(key, app.revision)],
      write: [{ remove: key }],
      counters: { ...counters, apps: counters.apps - 1 },
      result: appId,
    };
  };

async function account(store: Store): Promise<string> {
  const accountId = newId();
  const record = { name: '', entitlement: 'standard', disabled: false, createdAt: 1 };
  const counters = { apps: 0, nextSlot: 0, idempotencyNext: 0 };
  await write(store, [rawPut(KEYS.account(accountId), record), put(KEYS.counters(accountId), counters)]);
  return accountId;
}

async function appsOf(store: Store, accountId: string): Promise<{ counted: number; there: string[] }> {
  const entry = await store.get(KEYS.counters(accountId));
  const there = await entriesOf(store, KEYS.app.under(accountId));
  return {
    counted: entry ? parseRecord(KEYS.counters, entry).record.apps : Number.NaN,
    there: there.map(({ key }) => key.slice(KEYS.app.under(accountId).length)).toSorted(),
  };
}

const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
  );

onEachStore('the queue of an account', (stores: Stores) => {
  test('takes the reader that it is handed, and asks for none', async () => {
    await using store = await stores.open();
    await using process = await Process.start(store);
    const accountId = await account(store);
    for (let n = 0; n < 2; n += 1) {
      const reader = await process.reader();
      const { head, commit } = process.lagging.calls;
      await process.queue(accountId, creation(accountId), reader);
      expect(process.lagging.calls).toEqual({ head, commit: commit + 1 });
    }
  });

  test('asks for a reader where the one that it is handed is older than its last commit: nothing conflicts', async () => {
    await using store = await stores.open();
    await using process = await Process.start(store);
    const accountId = await account(store);
    const reader = await process.reader();
    process.lagging.lags = true;
    const before = { ...process.lagging.calls };
    await process.queue(accountId, creation(accountId), reader);
    await process.queue(accountId, creation(accountId), reader);
    expect(process.lagging.calls).toEqual({ head: before.head + 1, commit: before.commit + 2 });
    expect((await appsOf(store, accountId)).counted).toBe(2);
  });

  test('plans anew where another process was faster than the reader knows', async () => {
    await using store = await stores.open();
    await using process = await Process.start(store);
    await using other = await Process.start(store);
    const accountId = await account(store);
    const reader = await process.reader();
    process.lagging.lags = true;
    for (let n = 0; n < APPS_MAX; n += 1) await other.queue(accountId, creation(accountId));
    expect(await outcomeOf(process.queue(accountId, creation(accountId), reader))).toBe('limit_reached');
    expect((await appsOf(store, accountId)).counted).toBe(APPS_MAX);
  });

  test('decides no refusal from an old reader: what another process deleted has made room', async () => {
    await using store = await stores.open();
    await using process = await Process.start(store);
    await using other = await Process.start(store);
    const accountId = await account(store);
    for (let n = 0; n < APPS_MAX; n += 1) await other.queue(accountId, creation(accountId, `app${n}`));
    const reader = await process.reader();
    process.lagging.lags = true;
    await other.queue(accountId, deletion(accountId, 'app0'));
    expect(await outcomeOf(process.queue(accountId, creation(accountId), reader))).toBe('done');
  });

  test('keeps the count exact for readers of every age, whoever lags', async () => {
    const operation = fc.record({
      process: fc.nat(1),
      kind: fc.constantFrom('create', 'create', 'delete'),
      reader: fc.constantFrom('kept', 'now', 'none'),
      target: fc.nat(9),
    });
    const groups = fc.array(fc.array(operation, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 });
    await using store = await stores.open();
    await using one = await Process.start(store);
    await using other = await Process.start(store);
    const processes = [one, other];
    await fc.assert(
      fc.asyncProperty(groups, fc.tuple(fc.boolean(), fc.boolean()), async (steps, lags) => {
        const accountId = await account(store);
        const kept = await Promise.all(processes.map((process) => process.reader()));
        processes.forEach((process, index) => (process.lagging.lags = lags[index] === true));
        let alive: string[] = [];
        for (const group of steps) {
          const before = alive;
          const work = group.map(async ({ process: index, kind, reader: age, target }) => {
            const process = processes[index] ?? one;
            const reader = age === 'now' ? await process.reader() : age === 'kept' ? kept[index] : undefined;
            const appId = kind === 'create' ? newId() : (before[target % Math.max(1, before.length)] ?? 'none');
            const plan = kind === 'create' ? creation(accountId, appId) : deletion(accountId, appId);
            return { kind, appId, outcome: await outcomeOf(process.queue(accountId, plan, reader)) };
          });
          const ended = await Promise.all(work);
          const { counted, there } = await appsOf(store, accountId);
          const [made, gone] = ['create', 'delete'].map((kind) =>
            ended.filter((one) => one.kind === kind && one.outcome === 'done').map(({ appId }) => appId),
          );
          alive = [...before, ...(made ?? [])].filter((appId) => !gone?.includes(appId)).toSorted();
          expect(there).toEqual(alive);
          expect(counted).toBe(alive.length);
          expect(counted).toBeLessThanOrEqual(APPS_MAX);
          // Alone, a request is told what is so: by no reader that is older than it.
          const [alone] = ended;
          if (alone && ended.length === 1) {
            const exists = before.includes(alone.appId);
            const right = alone.kind === 'create' ? before.length < APPS_MAX || 'limit_reached' : exists || 'not_found';
            expect(alone.outcome).toBe(right === true ? 'done' : right);
          }
        }
      }),
      { numRuns: runs(30) },
    );
  });
});
