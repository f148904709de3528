import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { ABSENT, type Store } from '../store/port.ts';
import type { FleetMemory } from './fleet-memory.ts';
import type { AppEntry } from './fleet-reader.ts';
import { LIMITS } from './limits.ts';
import { KEYS, put } from './records.ts';
import { packSeen } from './seen-codec.ts';

/**
 * Polls move `lastSeenAt` (A13) and must not cost a write each. What they tell is gathered here and written every ten
 * seconds, one small record an account, apart from the app records, so that it meets no mutation; such a commit is
 * quiet. What is answered as `lastSeenAt` is what was written: a value that was shown is never lost in a crash.
 */
export interface Heartbeats {
  seen(app: AppEntry, at: number): void;
  /** One round. @returns the bytes written */
  flush(): Promise<number>;
  /** Rounds until the signal aborts, then a last one. */
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
      await flush();
    },
  };
}

/** @returns the bytes written, or undefined where the record could not be written this time */
async function flushAccount(
  deps: HeartbeatDeps,
  accountId: string,
  slots: ReadonlyMap<number, number>,
): Promise<number | undefined> {
  // A memory with holes would take apps that it does not know yet for deleted.
  if (!deps.memory.whole) return undefined;
  const account = deps.memory.account(accountId);
  if (!account) return 0;
  const alive = new Set(account.apps().map((app) => app.record.slot));
  const merged = new Map<number, number>();
  let moved = false;
  for (const [slot, at] of account.seen()) if (alive.has(slot)) merged.set(slot, at);
  for (const [slot, at] of slots) {
    if (!alive.has(slot) || at <= (merged.get(slot) ?? 0)) continue;
    merged.set(slot, at);
    moved = true;
  }
  if (!moved) return 0;
  const write = put(KEYS.seen(accountId), { packed: packSeen(merged) });
  const expect = { key: KEYS.seen(accountId), revision: account.seenRevision || ABSENT };
  try {
    const { outcome } = await deps.store.commit({ expect: [expect], write: [write], quiet: true });
    const written = outcome === 'committed';
    deps.metrics.heartbeatsFlushed(1, written ? write.value.length : 0, written ? 'written' : 'conflict');
    return written ? write.value.length : undefined;
  } catch (error) {
    deps.metrics.heartbeatsFlushed(1, 0, 'failed');
    deps.log.info({ err: error, accountId }, 'heartbeats could not be written, will retry');
    return undefined;
  }
}
