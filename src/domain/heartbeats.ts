import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { ABSENT, type Store } from '../store/port.ts';
import type { FleetMemory } from './fleet-memory.ts';
import type { AppEntry } from './fleet-reader.ts';
import { LIMITS } from './limits.ts';
import { KEYS, parseRecord, put, seenSchema } from './records.ts';
import { packSeen, unpackSeen } from './seen-codec.ts';

/**
 * Polls move `lastSeenAt` (A13) and must not cost a write each. What they tell is gathered here and written every ten
 * seconds, one small record an account, apart from the app records, so that it meets no mutation; such a commit is
 * quiet. What is answered as `lastSeenAt` is what was written: a value that was shown is never lost in a crash.
 */
export interface Heartbeats {
  seen(app: AppEntry, at: number): void;
  /** One round. @returns the bytes written */
  flush(): Promise<number>;
  /** Rounds until the signal aborts; the last one is the caller's, once nobody polls any more. */
  run(signal: AbortSignal): Promise<void>;
}

export interface HeartbeatDeps {
  readonly store: Store;
  readonly memory: FleetMemory;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'heartbeatsFlushed'>;
}

const CONCURRENT_FLUSHES = 16;

export function createHeartbeats(deps: HeartbeatDeps): Heartbeats {
  let pending = new Map<string, Map<number, number>>();

  function seen(app: AppEntry, at: number): void {
    let slots = pending.get(app.accountId);
    if (!slots) pending.set(app.accountId, (slots = new Map<number, number>()));
    if ((slots.get(app.record.slot) ?? 0) < at) slots.set(app.record.slot, at);
  }

  /** What was not written waits for the next round, unless it has been overtaken. */
  function putBack(accountId: string, slots: ReadonlyMap<number, number>): void {
    const newer = pending.get(accountId);
    const merged = new Map(slots);
    for (const [slot, at] of newer ?? []) merged.set(slot, Math.max(at, merged.get(slot) ?? 0));
    pending.set(accountId, merged);
  }

  async function flush(): Promise<number> {
    // While memory is being filled, an app that is missing may be yet to come: its contact must not be cleared away.
    if (!deps.memory.whole) return 0;
    const round = [...pending];
    pending = new Map();
    let bytes = 0;
    const workers = Array.from({ length: CONCURRENT_FLUSHES }, async () => {
      for (let next = round.pop(); next; next = round.pop()) {
        const [accountId, slots] = next;
        const written = await flushAccount(deps, accountId, slots);
        if (written === undefined) putBack(accountId, slots);
        else bytes += written;
      }
    });
    await Promise.all(workers);
    return bytes;
  }

  return {
    seen,
    flush,
    async run(signal) {
      let pauseMs: number = LIMITS.heartbeatFlushMs;
      while (!signal.aborted) {
        await deps.clock.sleep(pauseMs, signal);
        const bytes = await flush();
        // A round that would write too much at once comes less often instead.
        const stretch = Math.ceil(bytes / LIMITS.heartbeatRoundBytesMax);
        pauseMs = Math.min(LIMITS.heartbeatFlushMaxMs, LIMITS.heartbeatFlushMs * Math.max(1, stretch));
      }
    },
  };
}

/** @returns the bytes written, or undefined where the record could not be written this time */
async function flushAccount(
  deps: HeartbeatDeps,
  accountId: string,
  slots: ReadonlyMap<number, number>,
): Promise<number | undefined> {
  const account = deps.memory.account(accountId);
  if (!account) return 0;
  const alive = new Set(account.apps().map((app) => app.record.slot));
  const known = { seen: account.seen(), revision: account.seenRevision };
  try {
    const written = await write(deps, accountId, known, slots, alive);
    if (written !== 'conflict') return written;
    // Another replica's round is newer than memory.
    const stored = await storedSeen(deps.store, accountId);
    const again = await write(deps, accountId, stored, slots, alive);
    return again === 'conflict' ? undefined : again;
  } catch (error) {
    deps.metrics.heartbeatsFlushed(1, 0, 'failed');
    deps.log.info({ err: error, accountId }, 'heartbeats could not be written, will retry');
    return undefined;
  }
}

interface Known {
  readonly seen: ReadonlyMap<number, number>;
  readonly revision: number;
}

async function storedSeen(store: Store, accountId: string): Promise<Known> {
  const entry = await store.get(KEYS.seen(accountId));
  if (!entry) return { seen: new Map(), revision: ABSENT };
  return { seen: unpackSeen(parseRecord(seenSchema, entry).record.packed), revision: entry.revision };
}

/** @returns the bytes written */
async function write(
  deps: HeartbeatDeps,
  accountId: string,
  known: Known,
  slots: ReadonlyMap<number, number>,
  alive: ReadonlySet<number>,
): Promise<number | 'conflict'> {
  const merged = merge(known.seen, slots, alive);
  if (!merged) return 0;
  const record = put(KEYS.seen(accountId), { packed: packSeen(merged) });
  const expect = { key: KEYS.seen(accountId), revision: known.revision };
  const { outcome } = await deps.store.commit({ expect: [expect], write: [record], quiet: true });
  const bytes = outcome === 'committed' ? record.value.length : 0;
  deps.metrics.heartbeatsFlushed(1, bytes, outcome === 'committed' ? 'written' : 'conflict');
  return outcome === 'conflict' ? outcome : bytes;
}

/** The later contact of each slot that an app still has; undefined where none has moved. */
function merge(
  known: ReadonlyMap<number, number>,
  slots: ReadonlyMap<number, number>,
  alive: ReadonlySet<number>,
): ReadonlyMap<number, number> | undefined {
  const merged = new Map<number, number>();
  let moved = false;
  for (const [slot, at] of known) if (alive.has(slot)) merged.set(slot, at);
  for (const [slot, at] of slots) {
    if (!alive.has(slot) || at <= (merged.get(slot) ?? 0)) continue;
    merged.set(slot, at);
    moved = true;
  }
  return moved ? merged : undefined;
}
