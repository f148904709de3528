import { setImmediate as nextTurn } from 'node:timers/promises';
import { StoreUnavailable, type Expectation } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { endOfDay, HOUR_MS } from '../../time/utc-days.ts';
import { namesRead } from '../audit/names.ts';
import { notCaughtUp, type Fleet } from '../fleet/fleet.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import type { LedgerRecord } from '../records/metering-records.ts';
import type { ClockWatch } from '../status-history/clock-trust.ts';
import { changesSince } from './changes-since.ts';
import { countNight, type AccountNow } from './count-active.ts';
import { LEDGER_ENTRIES_PER_COMMIT, recordNight, type LedgerDeps, type LedgerEntry } from './ledger.ts';
import type { Price } from './prices.ts';

interface NightDeps extends Omit<LedgerDeps, 'readName'> {
  readonly store: LedgerDeps['store'] & Parameters<typeof changesSince>[0];
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly clockWatch: Pick<ClockWatch, 'trusted'>;
  /**
   * The least pause after the commit of a batch. It is twice as long as the commit took, if that is more, so that
   * writers go on; within a batch they do as well. 0 meters the night in one go.
   */
  readonly pauseMs: number;
}

/** A night that is being metered: its day (`YYYY-MM-DD`), and the price that holds for it. */
export interface Night {
  readonly day: string;
  readonly price: Price;
  /** Accounts up to and including this id are done: a round goes on where the one before it stopped. */
  doneTo: string;
  /** The newest record of the night: a restore that took any of them away took this one as well. */
  newest?: Expectation | undefined;
}

const LATE_MS = HOUR_MS;
/** M3: whether a night that is metered at this instant is late, by more than an hour after its midnight. */
export const isLate = (day: string, at: number): boolean => at > endOfDay(day) + LATE_MS;
const PAUSE_MAX_MS = 1000;
const FRESH_ATTEMPTS_MAX = 20;
const FRESH_PAUSE_MS = 50;
/**
 * After so many apps were read or counted, in a fraction of a millisecond, requests go on; an account is not divided.
 */
const APPS_PER_TURN = 200;
const TURN_PAUSE_MS = 1;

/**
 * Records a night (M1 to M3) for every account that existed then. The day record must have moved on before: the state
 * that is read here is then that of the night, but for changes of later days, and each of those has left an entry.
 * @returns whether everything is recorded; if not, the caller tries again
 * @throws StoreUnavailable; BadRecord; Error once all others are done, where the record of an account cannot be read
 */
export async function meterNight(deps: NightDeps, night: Night, signal: AbortSignal): Promise<boolean> {
  const memory = await freshMemory(deps);
  const [unreadable, seen] = [memory.unreadableAccounts(), memory.unreadableCount];
  const accountIds = accountsOf(memory, night.day).filter((id) => id > night.doneTo && !unreadable.has(id));
  for (let i = 0; i < accountIds.length; i += LEDGER_ENTRIES_PER_COMMIT) {
    signal.throwIfAborted();
    if (!deps.clockWatch.trusted()) return false;
    const batch = accountIds.slice(i, i + LEDGER_ENTRIES_PER_COMMIT);
    const entries = await countBatch(deps, night, batch, signal);
    // An app of the batch may be unreadable, and so not in memory, and active all the same.
    if (memory.unreadableCount !== seen) return false;
    const startedAt = deps.clock.monotonic();
    const newest = await recordNight({ ...deps, readName: namesRead(memory) }, entries, night.newest);
    if (newest === 'conflict') {
      Object.assign(night, { doneTo: '', newest: undefined });
      return false;
    }
    night.newest = newest;
    if (unreadable.size === 0) night.doneTo = batch.at(-1) ?? night.doneTo;
    await pause(deps, deps.clock.monotonic() - startedAt, signal);
  }
  if (unreadable.size > 0) {
    throw new Error(`The night ${night.day} waits for accounts that cannot be read: ${[...unreadable].join(', ')}.`);
  }
  return true;
}

/** The accounts in the order of their ids, without those that were created on a later day: they have no such night. */
function accountsOf(memory: FleetMemory, day: string): string[] {
  const ids: string[] = [];
  for (const { id, record } of memory.accounts()) if (record.createdAt < endOfDay(day)) ids.push(id);
  return ids.sort();
}

/**
 * Waits up to a second until memory is as new as the store: a count is read from memory alone.
 * @throws StoreUnavailable
 */
async function freshMemory({ fleet, clock }: Pick<NightDeps, 'fleet' | 'clock'>): Promise<FleetMemory> {
  for (let attempt = 1; ; attempt += 1) {
    const reader = await fleet.current();
    if (reader.atOnce && fleet.memory.whole) return fleet.memory;
    if (attempt === FRESH_ATTEMPTS_MAX) throw notCaughtUp();
    await clock.sleep(FRESH_PAUSE_MS);
  }
}

/** @throws the reason of the signal once it has aborted */
async function countBatch(
  deps: NightDeps,
  night: Night,
  accountIds: readonly string[],
  signal: AbortSignal,
): Promise<LedgerEntry[]> {
  const memory = await freshMemory(deps);
  const states: AccountNow[] = [];
  const read = turns(deps, signal);
  for (const accountId of accountIds) {
    const { state, apps } = stateOf(memory, accountId);
    states.push(state);
    await read(apps);
  }
  // The day is read last: every state is of this day or an earlier one, and later changes are in the list below.
  const today = memory.day()?.record.day;
  if (today === undefined || today <= night.day) throw new Error(`The day ${night.day} has not ended.`);
  const [first = '', last = ''] = [accountIds[0], accountIds.at(-1)];
  const changed = await changesSince(deps.store, night.day, today, { first, last });
  const entries: LedgerEntry[] = [];
  const counted = turns(deps, signal);
  for (const state of states) {
    const count = countNight(state, changed.get(state.accountId));
    entries.push({ accountId: state.accountId, record: recordOf(deps, night, count) });
    await counted(state.active.length);
  }
  return entries;
}

/** Lets the work of others go on after each `APPS_PER_TURN`, for twice as long as these took. */
function turns({ clock, pauseMs }: NightDeps, signal: AbortSignal): (apps: number) => Promise<void> {
  let done = 0;
  let startedAt = clock.monotonic();
  return async (apps) => {
    done += apps;
    if (done < APPS_PER_TURN) return;
    done = 0;
    if (pauseMs > 0) await clock.sleep(pauseAfter(clock.monotonic() - startedAt, TURN_PAUSE_MS), signal);
    else await nextTurn();
    signal.throwIfAborted();
    startedAt = clock.monotonic();
  };
}

/** The state of an account, and how many apps were read for it. */
function stateOf(memory: FleetMemory, accountId: string): { state: AccountNow; apps: number } {
  const account = memory.account(accountId);
  // While memory is filled anew, an account may be there with only some of its apps.
  if (!account || !memory.whole) throw new StoreUnavailable('timeout', 'Memory is being filled anew.');
  const { record, appCount } = account;
  return { state: { accountId, disabled: record.disabled, active: account.activeIds() }, apps: appCount };
}

function recordOf(
  { clock }: NightDeps,
  { day, price }: Night,
  count: Pick<LedgerRecord, 'activeDaemons' | 'digest'>,
): LedgerRecord {
  const computedAt = clock.now();
  return { day, ...count, computedAt, late: isLate(day, computedAt), ...price };
}

async function pause({ clock, pauseMs }: NightDeps, tookMs: number, signal: AbortSignal): Promise<void> {
  if (pauseMs > 0) await clock.sleep(pauseAfter(tookMs, pauseMs), signal);
  else await nextTurn();
}

const pauseAfter = (tookMs: number, leastMs: number): number => Math.min(Math.max(leastMs, 2 * tookMs), PAUSE_MAX_MS);
