import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { meteringReconciler, type MeteringDeps } from '../src/controller/metering.ts';
import { enrolled, newApp } from '../src/domain/apps/app-state.ts';
import { generateAccountId, generateAppId, systemRandom } from '../src/domain/credentials/random-ids.ts';
import { createFleet } from '../src/domain/fleet/fleet.ts';
import { FleetMemory } from '../src/domain/fleet/memory.ts';
import { recordPrice } from '../src/domain/metering/prices.ts';
import { readWatermark } from '../src/domain/metering/watermark.ts';
import { put } from '../src/domain/records/codec.ts';
import { CACHED_GROUPS, KEYS } from '../src/domain/records/keys.ts';
import { createLog } from '../src/log.ts';
import { createMetrics } from '../src/metrics/service-metrics.ts';
import { openStore, type StoreChoice } from '../src/service/open-store.ts';
import { expectAbsent, type Store } from '../src/store/port.ts';
import { WatchCache } from '../src/store/watch-cache/watch-cache.ts';
import { systemClock, type Clock } from '../src/time/clock.ts';
import { DAY_MS, endOfDay } from '../src/time/utc-days.ts';
import { findEtcd } from '../test/support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../test/support/etcd/etcd.ts';
import { median, withRange } from './median.ts';
import { rawPut } from '../test/support/store/raw-key.ts';

/*
 * `npm run bench:metering`: measures the seconds and the extra memory of a night that is metered in one go, and the p99
 * of commits while a night is metered at its pace, compared with none (`-- paced`: that alone). Accounts have 1000 apps
 * each. The apps are in memory alone, since a night reads them nowhere else.
 */

const SIZES = (process.env['BENCH_SIZES'] ?? '10000,100000,1000000').split(',').map(Number);
const APPS_PER_ACCOUNT = 1000;
const WRITERS = 8;
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const [only = ''] = process.argv.slice(2);
const WRITERS_MS = Number(process.env['BENCH_WRITERS_MS'] ?? 3000);
const DAY = '2026-06-01';
const NOON = endOfDay(DAY) - 43_200_000;

/** A clock that is so late that this many nights are due; it goes on as the machine's does. */
function clockAfter(nights: number): Clock {
  const ahead = endOfDay(DAY) + (nights - 1) * DAY_MS + 360_000 - Date.now();
  return { ...systemClock, now: () => Date.now() + ahead };
}

interface Bench extends AsyncDisposable {
  readonly store: Store;
  readonly memory: FleetMemory;
  readonly deps: MeteringDeps;
}

async function open(choice: StoreChoice, nights = 1): Promise<Bench> {
  const store = await openStore(choice);
  const memory = new FleetMemory({ onUnreadable: (error) => process.stderr.write(`${String(error)}\n`) });
  const [clock, log, metrics] = [clockAfter(nights), createLog('error'), createMetrics('bench')];
  // There is no consistency check: records that are put into memory beside the store must stay there.
  const watchCache = new WatchCache({ store, sink: memory, clock, log, metrics, groups: CACHED_GROUPS });
  watchCache.start();
  while (!watchCache.ready) await sleep(1);
  const deps: MeteringDeps = {
    store,
    fleet: createFleet(store, watchCache, memory),
    clock,
    clockWatch: { trusted: () => true, trusts: () => true },
    random: systemRandom(),
    log,
    metrics,
    meteringDelayMs: 300_000,
  };
  await recordPrice(store, { price: '1.50', currency: 'EUR' }, NOON, []);
  const day = put(KEYS.day(), { day: DAY, since: DAY });
  await store.commit({ expect: [expectAbsent(KEYS.day())], write: [day] });
  return {
    store,
    memory,
    deps,
    async [Symbol.asyncDispose]() {
      await watchCache[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

const random = systemRandom();

function seed(memory: FleetMemory, apps: number): void {
  const record = enrolled(newApp('daemon', 0, NOON, { hash: 'c'.repeat(43), issuedAt: NOON }), {
    code: 'c'.repeat(43),
    credential: 'h'.repeat(43),
    platform: 'linux',
    agentVersion: '1.0.0',
    connection: 'cloud',
    at: NOON,
  });
  const value = JSON.stringify(record);
  for (let i = 0; i < apps / APPS_PER_ACCOUNT; i += 1) {
    const accountId = generateAccountId(random);
    const account = { name: 'bench', entitlement: 'standard', disabled: false, createdAt: NOON };
    memory.put({ key: KEYS.account(accountId), value: JSON.stringify(account), revision: 1 });
    for (let n = 0; n < APPS_PER_ACCOUNT; n += 1) {
      memory.put({ key: KEYS.app(accountId, generateAppId(random)), value, revision: 1 });
    }
  }
  memory.settled();
}

/** Meters so many of the nights that are due. @returns seconds */
async function meter(
  { store, deps }: Bench,
  { nights, pauseMs }: { nights: number; pauseMs?: number },
): Promise<number> {
  const options = pauseMs === undefined ? deps : { ...deps, meteringPauseMs: pauseMs };
  const { signal } = new AbortController();
  const loop = meteringReconciler(options, { fence: [], signal });
  const startedAt = performance.now();
  let metered = 0;
  for (let { through } = await readWatermark(store); metered < nights;) {
    await loop.reconcile(signal);
    const now = (await readWatermark(store)).through;
    if (now !== through) metered += 1;
    through = now;
  }
  return (performance.now() - startedAt) / 1000;
}

const mebibytes = (bytes: number): string => (bytes / 1_048_576).toFixed(0);

/** Measures by how much the memory of the process grew at most while the work ran, in bytes. */
async function extraMemory<T>(work: () => Promise<T>): Promise<{ result: T; rss: number; heap: number }> {
  const collect = (globalThis as { gc?: () => void }).gc;
  collect?.();
  const before = process.memoryUsage();
  let [rss, heap] = [0, 0];
  const sampling = setInterval(() => {
    const now = process.memoryUsage();
    rss = Math.max(rss, now.rss - before.rss);
    heap = Math.max(heap, now.heapUsed - before.heapUsed);
  }, 5);
  const result = await work();
  clearInterval(sampling);
  return { result, rss, heap };
}

async function unpaced(name: string, choice: () => StoreChoice): Promise<void> {
  for (const apps of SIZES) {
    await using bench = await open(choice());
    seed(bench.memory, apps);
    const { result, rss, heap } = await extraMemory(() => meter(bench, { nights: 1, pauseMs: 0 }));
    row(name, apps, `${result.toFixed(2)} s`, `${mebibytes(rss)} MiB`, `${mebibytes(heap)} MiB`);
  }
}

/**
 * Runs closed loops of one commit each, as a revocation makes it, until told to stop. @returns the milliseconds of each
 * commit
 */
async function writers(store: Store, over: () => boolean): Promise<number[]> {
  const times: number[] = [];
  let number = 0;
  const writer = async (): Promise<void> => {
    while (!over()) {
      const key = `bench/${(number += 1)}`;
      const startedAt = performance.now();
      await store.commit({
        expect: [expectAbsent(key)],
        write: [rawPut(key, { at: number, text: 'x'.repeat(300) })],
      });
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  return times;
}

async function alone(store: Store): Promise<number[]> {
  const end = performance.now() + WRITERS_MS;
  return await writers(store, () => performance.now() >= end);
}

const p99 = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;

async function paced(name: string, choice: () => StoreChoice, apps: number): Promise<void> {
  const rounds: { readonly seconds: number; readonly without: number; readonly beside: number }[] = [];
  // Small nights are over in a moment: several are metered in a round, so that there is something to measure.
  const nights = Math.min(25, 1_000_000 / apps);
  await using bench = await open(choice(), ROUNDS * nights);
  seed(bench.memory, apps);
  await alone(bench.store);
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await alone(bench.store);
    let done = false;
    const metering = meter(bench, { nights }).finally(() => (done = true));
    const during = await writers(bench.store, () => done);
    rounds.push({
      seconds: (await metering) / nights,
      without: p99([...before, ...(await alone(bench.store))]),
      beside: p99(during),
    });
  }
  const ratios = rounds.map(({ without, beside }) => beside / without);
  row(
    name,
    apps,
    `${median(rounds.map(({ seconds }) => seconds)).toFixed(2)} s`,
    `${median(rounds.map(({ without }) => without)).toFixed(1)} ms`,
    `${median(rounds.map(({ beside }) => beside)).toFixed(1)} ms`,
    withRange(ratios),
  );
}

function row(...cells: (string | number)[]): void {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

function head(...cells: string[]): void {
  row(...cells);
  row(...cells.map(() => '---'));
}

const directory = mkdtempSync(join(tmpdir(), 'muster-metering-'));
try {
  const binary = findEtcd();
  await using cluster = binary === undefined ? undefined : await EtcdCluster.start({ binary });
  let stores = 0;
  const sqlite = (): StoreChoice => ({ kind: 'sqlite', path: join(directory, `${(stores += 1)}.db`) });
  const etcd = (url: string) => (): StoreChoice => ({ kind: 'etcd', endpoints: [url], prefix: `/${(stores += 1)}/` });
  const places: [string, () => StoreChoice][] = [['sqlite', sqlite]];
  if (cluster) places.push(['etcd', etcd(cluster.member.url)]);
  if (only !== 'paced') {
    head('store', 'apps', 'a night, unpaced', 'extra RSS', 'extra heap');
    for (const [name, choice] of places) await unpaced(name, choice);
    process.stdout.write('\n');
  }
  head('store', 'apps', 'a night, paced', `p99 of ${WRITERS} writers without`, 'with', 'ratio (range)');
  for (const [name, choice] of places) for (const apps of SIZES) await paced(name, choice, apps);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
