import { createHash, randomBytes } from 'node:crypto';
import type { Term } from '../../../src/controller/leader.ts';
import { meteringReconciler, type MeteringDeps } from '../../../src/controller/metering.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { createFleet } from '../../../src/domain/fleet/fleet.ts';
import { FleetMemory } from '../../../src/domain/fleet/memory.ts';
import { recordPrice } from '../../../src/domain/metering/prices.ts';
import { parseRecord, put } from '../../../src/domain/records/codec.ts';
import { CACHED_GROUPS, KEYS } from '../../../src/domain/records/keys.ts';
import type { LedgerRecord } from '../../../src/domain/records/metering-records.ts';
import { createClockWatch } from '../../../src/domain/status-history/clock-trust.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { expectAbsent, type Expectation, type Store, type Write } from '../../../src/store/port.ts';
import { WatchCache } from '../../../src/store/watch-cache/watch-cache.ts';
import { dayAt, endOfDay } from '../../../src/time/utc-days.ts';
import { entriesOf } from '../service/accounts.ts';
import type { FakeClock } from '../time/fake-clock.ts';
import { until } from '../time/until.ts';
import type { AppStatus } from '../../../src/domain/records/app-records.ts';

export const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;
export const midnightAfter = (at: number): number => endOfDay(dayAt(at));

/** The digest of a night as M2 describes it, implemented a second time. */
export function digestOf(appIds: readonly string[]): string {
  return createHash('sha256')
    .update([...appIds].sort().join('\n'))
    .digest('hex');
}

/** Every ledger record of the store, by `<accountId> <day>`. */
export async function ledgerOf(store: Store): Promise<Map<string, LedgerRecord>> {
  const records = new Map<string, LedgerRecord>();
  for (const entry of await entriesOf(store, 'ledger/')) {
    const [, , accountId = ''] = entry.key.split('/');
    const { record } = parseRecord(KEYS.ledger, entry);
    const key = `${accountId} ${record.day}`;
    if (records.has(key)) throw new Error(`${key} is recorded twice`);
    records.set(key, record);
  }
  return records;
}

/** The part of each record that does not depend on when it was computed. */
export async function countsOf(store: Store): Promise<Record<string, string>> {
  const counts: Record<string, string> = {};
  for (const [key, { activeDaemons, digest }] of await ledgerOf(store)) counts[key] = `${activeDaemons} ${digest}`;
  return counts;
}

export interface Replica extends AsyncDisposable {
  readonly deps: MeteringDeps;
  readonly logged: string[];
  readonly watchCache: WatchCache;
  /** Resolves when memory has all that is in the store: a round that is too early for it does nothing. */
  caughtUp(): Promise<void>;
  /** Rounds of the metering loop until nothing is due. */
  meter(fence?: readonly Expectation[]): Promise<void>;
}

/** A term that does not end. */
export const termOf = (fence: Term['fence'] = []): Term => ({ fence, signal: new AbortController().signal });

/** The part of a replica that metering needs: the fleet in memory, which follows the store. */
export async function replicaOn(store: Store, clock: FakeClock): Promise<Replica> {
  const memory = new FleetMemory({ onUnreadable: () => undefined });
  const logged: string[] = [];
  const log = createLog('debug', { write: (line) => void logged.push(line) });
  const metrics = createMetrics('test');
  const watchCache = new WatchCache({ store, sink: memory, clock, log, metrics, groups: CACHED_GROUPS });
  watchCache.start();
  await until(() => watchCache.ready);
  const deps: MeteringDeps = {
    store,
    fleet: createFleet(store, watchCache, memory),
    clock,
    clockWatch: createClockWatch({ clock, log }),
    random: systemRandom(),
    log,
    metrics,
    meteringDelayMs: 5 * MINUTE_MS,
  };
  await recordPrice(store, { price: '1.50', currency: 'EUR' }, clock.now(), []);
  const caughtUp = (): Promise<void> => until(async () => (await deps.fleet.current()).atOnce);
  return {
    deps,
    logged,
    watchCache,
    caughtUp,
    async meter(fence = []) {
      const loop = meteringReconciler(deps, termOf(fence));
      const signal = new AbortController().signal;
      // Each round meters one night, and the last one finds nothing due; a first round may only move the day on.
      for (let before = ''; ;) {
        await caughtUp();
        await loop.reconcile(signal);
        const after = await stateOf(store);
        if (after === before) return;
        before = after;
      }
    },
    [Symbol.asyncDispose]: () => watchCache[Symbol.asyncDispose](),
  };
}

async function stateOf(store: Store): Promise<string> {
  const entries = await Promise.all([store.get(KEYS.metered()), store.get(KEYS.day())]);
  const changes = await store.list({ prefix: KEYS.statusChange.under(), limit: 1, keysOnly: true });
  return JSON.stringify([entries.map((entry) => entry?.revision), changes.entries[0]?.key]);
}

export const newId = (): string => randomBytes(10).toString('hex');

/** Writes records unconditionally, in commits that a store takes. */
export async function write(store: Store, writes: readonly Write[]): Promise<void> {
  for (let i = 0; i < writes.length; i += 100) {
    const result = await store.commit({
      expect: [expectAbsent('never')],
      write: writes.slice(i, i + 100),
    });
    if (result.outcome !== 'committed') throw new Error('not written');
  }
}

export const accountAt = (accountId: string, createdAt: number, disabled = false): Write =>
  put(KEYS.account(accountId), { name: accountId, entitlement: 'standard', disabled, createdAt });

export const appAt = (accountId: string, appId: string, statusAt: number, status: AppStatus = 'active'): Write =>
  put(KEYS.app(accountId, appId), {
    name: '',
    status,
    statusAt,
    createdAt: statusAt,
    slot: 0,
    platform: '',
    agentVersion: '',
    connection: 'cloud',
    codes: [],
    spent: [],
  });
