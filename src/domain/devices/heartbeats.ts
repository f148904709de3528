import type { Log } from '../../log.ts';
import { PackedNumbers, type Numbers } from '../../packed/number-map.ts';
import { expectUnchanged, StoreUnavailable, type Store, type StoreTrouble } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { lastSeenIn, packLastSeen, type KnownContacts } from '../fleet/last-seen-codec.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import type { AppEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { Listening } from './listening.ts';
import type { HeartbeatMetrics } from './metrics.ts';

/**
 * Collects the contacts of polls (A13). A poll must not cost a write, so the contacts are written every ten seconds,
 * one small record per account beside the app records, by a quiet commit that conflicts with no mutation. `lastSeenAt`
 * in an answer is always a written value: a value that was shown is never lost in a crash.
 */
export interface Heartbeats {
  /**
   * Notes a contact.
   * @param at milliseconds since 1970
   * @param sender who that was, where other replicas are to know (shared-credentials/sharing-watch.ts)
   */
  seen(app: AppEntry, at: number, sender?: number): void;
  /** Writes one round; it begins no further account once the signal aborts. @returns the bytes written */
  flush(signal?: AbortSignal): Promise<number>;
  /** Writes rounds until the signal aborts; `finish` writes the last one, when no poll can come any more. */
  run(signal: AbortSignal): Promise<void>;
  /** Writes the last round, for at most `LIMITS.heartbeatFinishMs`, however slow the store is. */
  finish(): Promise<void>;
}

interface HeartbeatDeps {
  readonly store: Store;
  readonly memory: FleetMemory;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: HeartbeatMetrics;
  /** Learns when the store, and not an account's record, is why contacts were not written. */
  readonly listening: Pick<Listening, 'failed'>;
}

/** Contacts of an account that are not written yet, by slot. */
interface Contacts {
  readonly slots: PackedNumbers;
  /** Few contacts have a sender. */
  senders: Map<number, number> | undefined;
}

/** So many accounts share a commit of the store, as a rule; requests wait for no more of a round than these cost. */
const ACCOUNTS_AT_ONCE = 16;
/** The part of the time between two rounds over which a round is spread. */
const SPREAD = 1 / 5;

/** Store-wide errors end the round; otherwise every account would wait for its own deadline. */
const STORE_WIDE: ReadonlySet<StoreTrouble> = new Set(['unreachable', 'timeout', 'full', 'divided', 'closed']);
const endsRound = (error: unknown): boolean => error instanceof StoreUnavailable && STORE_WIDE.has(error.reason);

/** Creates the collector of contacts; see `Heartbeats`. */
export function createHeartbeats(deps: HeartbeatDeps): Heartbeats {
  const pending = new Map<string, Contacts>();

  function seen(app: AppEntry, at: number, sender?: number): void {
    let contacts = pending.get(app.accountId);
    if (!contacts) pending.set(app.accountId, (contacts = { slots: new PackedNumbers(), senders: undefined }));
    if ((contacts.slots.get(app.slot) ?? 0) >= at) return;
    contacts.slots.set(app.slot, at);
    if (sender !== undefined) (contacts.senders ??= new Map()).set(app.slot, sender);
    else contacts.senders?.delete(app.slot);
  }

  /** Keeps contacts that were not written for the next round, unless a later contact has replaced them. */
  function putBack(accountId: string, contacts: Contacts): void {
    const later = pending.get(accountId);
    for (const [slot, at] of later?.slots ?? []) {
      if (at < (contacts.slots.get(slot) ?? 0)) continue;
      contacts.slots.set(slot, at);
      const sender = later?.senders?.get(slot);
      if (sender !== undefined) (contacts.senders ??= new Map()).set(slot, sender);
      else contacts.senders?.delete(slot);
    }
    pending.set(accountId, contacts);
  }

  /** Adds an error to the failures. @returns the bytes written */
  async function flushOne(accountId: string, isOver: () => boolean, failures: unknown[]): Promise<number> {
    const contacts = pending.get(accountId);
    if (!contacts) return 0;
    pending.delete(accountId);
    try {
      const written = await flushAccount(deps, accountId, contacts, isOver);
      if (written === undefined) putBack(accountId, contacts);
      return written ?? 0;
    } catch (error) {
      putBack(accountId, contacts);
      failures.push(error);
      return 0;
    }
  }

  /** @param spreadMs the time over which the accounts of a round are spread, so that requests go on between them */
  async function flush(signal?: AbortSignal, spreadMs = 0): Promise<number> {
    const { memory, clock } = deps;
    const startedAt = clock.monotonic();
    const round = [...pending.keys()];
    let bytes = 0;
    const failures: unknown[] = [];
    // While memory is being filled, an app that is missing may still be listed: its contact must not be dropped.
    const isOver = (): boolean => signal?.aborted === true || !memory.whole || failures.some(endsRound);
    for (let next = 0; next < round.length && !isOver(); next += ACCOUNTS_AT_ONCE) {
      const pauseMs = startedAt + (spreadMs * next) / round.length - clock.monotonic();
      if (pauseMs > 0) await clock.sleep(pauseMs, signal);
      if (isOver()) break;
      const accountIds = round.slice(next, next + ACCOUNTS_AT_ONCE);
      const written = await Promise.all(accountIds.map(async (id) => flushOne(id, isOver, failures)));
      bytes += written.reduce((sum, one) => sum + one, 0);
    }
    logFailures(failures);
    return bytes;
  }

  function logFailures(failures: readonly unknown[]): void {
    if (failures.length === 0) return;
    if (failures.some(endsRound)) deps.listening.failed();
    deps.metrics.heartbeatsFlushed(failures.length, 0, 'failed');
    const details = { err: failures[0], failed: failures.length, waiting: pending.size };
    deps.log.info(details, 'heartbeats could not be written, will retry');
  }

  return {
    seen,
    flush,
    async run(signal) {
      let { everyMs, pauseMs } = paceAfter(0, 0);
      while (!signal.aborted) {
        await deps.clock.sleep(pauseMs, signal);
        if (signal.aborted) return;
        const startedAt = deps.clock.monotonic();
        const bytes = await flush(signal, everyMs * SPREAD);
        ({ everyMs, pauseMs } = paceAfter(bytes, deps.clock.monotonic() - startedAt));
      }
    },
    async finish() {
      const over = new AbortController();
      const flushed = flush(over.signal).finally(() => over.abort());
      await Promise.race([flushed, deps.clock.sleep(LIMITS.heartbeatFinishMs, over.signal)]);
      over.abort();
    },
  };
}

/**
 * The beginning of the next round: `everyMs` after the one before began, and `pauseMs` after it ended. Rounds that
 * wrote much come less often. A contact waits for a round, and until its account's turn in it.
 */
export function paceAfter(bytes: number, tookMs: number): { readonly everyMs: number; readonly pauseMs: number } {
  const stretch = Math.max(1, Math.ceil(bytes / LIMITS.heartbeatRoundBytesMax));
  const everyMs = Math.min(LIMITS.heartbeatFlushMaxMs / (1 + SPREAD), LIMITS.heartbeatFlushMs * stretch);
  return { everyMs, pauseMs: Math.max(everyMs / 2, everyMs - tookMs) };
}

/**
 * @returns the bytes written, or undefined where the record could not be written this time
 * @throws StoreUnavailable, BadRecord
 */
async function flushAccount(
  deps: HeartbeatDeps,
  accountId: string,
  contacts: Contacts,
  isOver: () => boolean,
): Promise<number | undefined> {
  const account = deps.memory.account(accountId);
  if (!account) return 0;
  const alive = new Set(account.slots());
  const written = await write(deps, accountId, account.contacts(), contacts, alive);
  if (written !== 'conflict') return written;
  if (isOver()) return undefined;
  // The round of another replica is newer than memory.
  const key = KEYS.lastSeen(accountId);
  const stored = lastSeenIn(key, await deps.store.get(key));
  if (isOver()) return undefined;
  const again = await write(deps, accountId, stored, contacts, alive);
  return again === 'conflict' ? undefined : again;
}

/** @returns the bytes written */
async function write(
  deps: HeartbeatDeps,
  accountId: string,
  known: KnownContacts,
  contacts: Contacts,
  alive: ReadonlySet<number>,
): Promise<number | 'conflict'> {
  const merged = merge(known.record, contacts.slots, alive);
  if (!merged) return 0;
  const senders = mergedSenders(known, contacts, merged);
  const record = put(KEYS.lastSeen(accountId), {
    ...known.added,
    packed: packLastSeen(merged),
    ...(senders.size > 0 && { senders: packLastSeen(senders) }),
  });
  const expect = expectUnchanged(known);
  const { outcome } = await deps.store.commit({ expect: [expect], write: [record], quiet: true });
  const bytes = outcome === 'committed' ? record.value.length : 0;
  deps.metrics.heartbeatsFlushed(1, bytes, outcome === 'committed' ? 'written' : 'conflict');
  return outcome === 'conflict' ? outcome : bytes;
}

/** The later contact of each slot that an app still has; undefined where none has moved. */
function merge(known: Numbers, slots: Numbers, alive: ReadonlySet<number>): Numbers | undefined {
  const merged = new PackedNumbers({ expected: alive.size });
  let moved = false;
  for (const [slot, at] of known) if (alive.has(slot)) merged.set(slot, at);
  for (const [slot, at] of slots) {
    if (!alive.has(slot) || at <= (merged.get(slot) ?? 0)) continue;
    merged.set(slot, at);
    moved = true;
  }
  return moved ? merged : undefined;
}

/** The senders of the contacts in the record, of the latest: an older one is of no use. */
function mergedSenders(known: KnownContacts, { slots, senders }: Contacts, merged: Numbers): Map<number, number> {
  const since = (slot: number): number => merged.get(slot) ?? 0;
  const isOwn = (slot: number): boolean => slots.get(slot) === since(slot);
  const kept = [...known.senders].filter(([slot]) => !isOwn(slot) && known.record.get(slot) === since(slot));
  const told = [...kept, ...[...(senders ?? [])].filter(([slot]) => isOwn(slot))];
  if (told.length === 0) return new Map();
  const newest = Math.max(...Array.from(slots, ([, at]) => at));
  const recent = told.filter(([slot]) => since(slot) >= newest - LIMITS.sharingWindowMs);
  return new Map(recent.sort(([one], [other]) => since(other) - since(one)).slice(0, LIMITS.sharingSendersMax));
}
