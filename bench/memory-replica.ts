import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemRandom } from '../src/domain/credentials/random-ids.ts';
import { createDeviceRate } from '../src/domain/devices/device-rate-limit.ts';
import { createHeartbeats, type Heartbeats } from '../src/domain/devices/heartbeats.ts';
import { createFleet, type Fleet } from '../src/domain/fleet/fleet.ts';
import { FleetMemory } from '../src/domain/fleet/memory.ts';
import { createEnvelope } from '../src/domain/keys/envelope.ts';
import { parseKeyRing } from '../src/domain/keys/key-ring.ts';
import { createDeviceConfigs } from '../src/domain/otel-config/delivered-config.ts';
import { CACHED_GROUPS, KEYS } from '../src/domain/records/keys.ts';
import { createLog } from '../src/log.ts';
import { createMetrics } from '../src/metrics/service-metrics.ts';
import { openStore, type StoreChoice } from '../src/service/open-store.ts';
import type { Store } from '../src/store/port.ts';
import { WatchCache } from '../src/store/watch-cache/watch-cache.ts';
import { systemClock } from '../src/time/clock.ts';

/* The replica that bench/memory.ts measures: what a service keeps of a fleet, without its listeners. */

export interface Held {
  readonly heap: number;
  /** Buffers and typed arrays. */
  readonly external: number;
  /** The longest of the full collections just made, and the processor time of the middle one, on all its threads. */
  readonly fullMs: number;
  readonly fullCpuMs: number;
}

export interface Figures {
  readonly apps: number;
  readonly start: {
    readonly wallMs: number;
    readonly cpuMs: number;
    readonly waitedMs: number;
    readonly appliedMs: number;
  };
  /** The memory beyond what the process had before. */
  readonly filled: Held;
  readonly polled: Held;
  readonly written: Held;
  readonly pollMicros: number;
  readonly rss: number;
}

const COLLECTIONS = 5;
const collect = (globalThis as { gc?: () => void }).gc ?? (() => undefined);

let longest = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries() as (ReturnType<typeof list.getEntries>[number] & {
    readonly detail?: unknown;
  })[]) {
    const { kind } = entry.detail as { kind: number };
    if (kind === constants.NODE_PERFORMANCE_GC_MAJOR) longest = Math.max(longest, entry.duration);
  }
}).observe({ entryTypes: ['gc'] });

async function held(before: Held | undefined): Promise<Held> {
  collect();
  await sleep(50);
  longest = 0;
  const cpu: number[] = [];
  for (let i = 0; i < COLLECTIONS; i += 1) {
    const used = process.cpuUsage();
    collect();
    const { user, system } = process.cpuUsage(used);
    cpu.push((user + system) / 1000);
    // The duration of a collection is reported in a turn of its own.
    await sleep(20);
  }
  const { heapUsed, external } = process.memoryUsage();
  return {
    heap: heapUsed - (before?.heap ?? 0),
    external: external - (before?.external ?? 0),
    fullMs: longest,
    fullCpuMs: cpu.sort((a, b) => a - b)[COLLECTIONS >> 1] ?? 0,
  };
}

/** The store, with the time that pages took to come and the time their records took to be taken up. */
interface Watched {
  readonly store: Store;
  readonly memory: FleetMemory;
  waitedMs: number;
  appliedMs: number;
}

function watched(inner: Store): Watched {
  const memory = new FleetMemory({ onUnreadable: (error) => process.stderr.write(`${String(error)}\n`) });
  const put = memory.put.bind(memory);
  const figures: Watched = {
    memory,
    waitedMs: 0,
    appliedMs: 0,
    store: new Proxy(inner, {
      get(target, name) {
        if (name === 'list') return list;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    }),
  };
  async function list(request: Parameters<Store['list']>[0]): ReturnType<Store['list']> {
    const startedAt = performance.now();
    const page = await inner.list(request);
    figures.waitedMs += performance.now() - startedAt;
    return page;
  }
  memory.put = (entry) => {
    const startedAt = performance.now();
    put(entry);
    figures.appliedMs += performance.now() - startedAt;
  };
  return figures;
}

/**
 * Polls as api/device/poll-config.ts does, without HTTP and the hashing of the credential. @returns microseconds a poll
 */
async function pollAll(store: Store, poll: (hash: string) => void): Promise<number> {
  let [polls, ms] = [0, 0];
  let after: string | undefined;
  const prefix = KEYS.credential('');
  do {
    const page = await store.list({ prefix, limit: 1000, keysOnly: true, after });
    const hashes = page.entries.map(({ key }) => key.slice(prefix.length));
    const startedAt = performance.now();
    for (const hash of hashes) poll(hash);
    ms += performance.now() - startedAt;
    polls += hashes.length;
    after = page.next;
  } while (after !== undefined);
  return (ms * 1000) / polls;
}

function pollerOf(fleet: Fleet, heartbeats: Heartbeats): (hash: string) => void {
  const envelope = createEnvelope(parseKeyRing(`1:${Buffer.alloc(32, 1).toString('base64')}`), systemRandom());
  const configs = createDeviceConfigs(envelope, 60);
  const rate = createDeviceRate(60, systemClock);
  return (hash) => {
    const found = fleet.memory.appOfCredential(hash);
    if (!found) throw new Error('a credential is not found');
    if (rate.refuse(found.app.id) !== undefined) throw new Error('a poll is refused');
    heartbeats.seen(found.app, systemClock.now());
    void configs.of(found);
  };
}

/** Waits until memory has what was written. */
async function settled(fleet: Fleet, apps: number): Promise<void> {
  for (;;) {
    await fleet.current();
    let seen = 0;
    for (const account of fleet.memory.accounts()) if (account.lastSeen().revision > 0) seen += 1;
    if (seen >= apps / 1000) return;
    await sleep(20);
  }
}

const choice = JSON.parse(process.argv[2] ?? '') as StoreChoice;
const [clock, log, metrics] = [systemClock, createLog('warn'), createMetrics('bench')];
const inner = await openStore(choice);
await inner.head();
const before = await held(undefined);
const figures = watched(inner);
const { store, memory } = figures;
const watchCache = new WatchCache({ store, sink: memory, clock, log, metrics, groups: CACHED_GROUPS });
const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
watchCache.start();
while (!memory.whole) await sleep(1);
const wallMs = performance.now() - startedAt;
const { user, system } = process.cpuUsage(cpu);
const [waitedMs, appliedMs] = [figures.waitedMs, figures.appliedMs];
const filled = await held(before);

const fleet = createFleet(store, watchCache, memory);
const heartbeats = createHeartbeats({ store, memory, clock, log, metrics, listening: { failed: () => undefined } });
const poll = pollerOf(fleet, heartbeats);
const pollMicros = await pollAll(inner, poll);
const polled = await held(before);
await heartbeats.flush();
await settled(fleet, memory.appCount);
const written = await held(before);
// This call keeps the memory of the polls alive until here.
poll((await inner.list({ prefix: KEYS.credential(''), limit: 1 })).entries[0]?.key.slice(5) ?? '');
process.send?.({
  apps: memory.appCount,
  start: { wallMs, cpuMs: (user + system) / 1000, waitedMs, appliedMs },
  filled,
  polled,
  written,
  pollMicros,
  rss: process.memoryUsage.rss(),
} satisfies Figures);
