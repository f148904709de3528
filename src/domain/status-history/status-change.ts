import { expectAsFound, type ChangeParts, type Expectation, type Store, type Write } from '../../store/port.ts';
import { endOfDay, startOfDay } from '../../time/utc-days.ts';
import type { AccountReader, AppEntry, FleetReader } from '../fleet/reader.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { ClockWatch } from './clock-trust.ts';
import { stampDay, type DayStamp } from './day-record.ts';
import type { AccountStatusChangeRecord, StatusChangeRecord } from '../records/metering-records.ts';

/*
 * The status changes, from which a night is rebuilt (M1, M3). Each change of an app's status, and of an account's
 * `disabled`, records the status before it in its own commit: one small record a day and app, which outlives the app.
 * The creation of an app leaves none, since a pending app does not count, and its next change records that it was
 * pending before.
 */

/** The store and the judgement of the clock that status changes need. */
export interface TransitionDeps {
  readonly store: Pick<Store, 'get'>;
  readonly clockWatch: Pick<ClockWatch, 'trusts'>;
}

/** The expectations and writes that the commit of a change needs besides its own, and the instant of the change. */
export interface Transition extends ChangeParts {
  readonly at: number;
}

/**
 * Records a change of an app's status.
 * @param after `none` where the app is deleted
 * @param at the instant of the request, in milliseconds since 1970
 * @throws StoreUnavailable; BadRecord
 */
export async function appTransition(
  deps: TransitionDeps,
  reader: FleetReader,
  app: AppEntry,
  after: StatusChangeRecord['after'],
  at: number,
): Promise<Transition> {
  const { status, statusAt } = app.record;
  // The last change may come from a clock that is a little ahead, and the creation by an earlier build moved no day on:
  // where this replica trusts its instant, the new change is not before it.
  const notBefore = statusAt > at && deps.clockWatch.trusts(statusAt) ? statusAt : at;
  const stamp = await stampNow(deps, reader, notBefore);
  const key = KEYS.statusChange(stamp.day, app.accountId, app.id);
  // A pending app has not changed before, and an app whose last change is of an earlier day has no record of today.
  const changedToday = status !== 'pending' && statusAt >= startOfDay(stamp.day);
  const entry = changedToday ? await deps.store.get(key) : undefined;
  const before = entry && parseRecord(KEYS.statusChange, entry);
  const record: StatusChangeRecord = { before: status, ...before?.record, after, at: within(stamp, statusAt) };
  return withStatusChange(stamp, record.at, put(key, record), expectAsFound(key, before));
}

/**
 * Stamps the creation of an app: no later change is before it (M1). It is the busiest write, so it expects the day only
 * where it is the first change of one.
 * @param at the instant of the request, in milliseconds since 1970
 * @throws StoreUnavailable
 */
export async function appCreation(deps: TransitionDeps, reader: FleetReader, at: number): Promise<Transition> {
  const day = await reader.day();
  // A day that cannot be read holds up the changes that count, and no creation.
  if (!day) return { at, expect: [], write: [] };
  const stamp = stampDay(day, at, deps.clockWatch.trusts(at));
  return { at: stamp.at, expect: stamp.write.length === 0 ? [] : [stamp.expect], write: stamp.write };
}

/**
 * Records a change of an account's `disabled`.
 * @param after whether it is disabled from now on
 * @param at the instant of the request, in milliseconds since 1970
 * @throws StoreUnavailable; BadRecord
 */
export async function accountTransition(
  deps: TransitionDeps,
  reader: FleetReader,
  account: Pick<AccountReader, 'id' | 'record'>,
  after: boolean,
  at: number,
): Promise<Transition> {
  const stamp = await stampNow(deps, reader, at);
  const key = KEYS.accountStatusChange(stamp.day, account.id);
  const entry = await deps.store.get(key);
  const before = entry && parseRecord(KEYS.accountStatusChange, entry);
  const previous = before?.record.at ?? account.record.createdAt;
  const record: AccountStatusChangeRecord = { before: !after, ...before?.record, after, at: within(stamp, previous) };
  return withStatusChange(stamp, record.at, put(key, record), expectAsFound(key, before));
}

/** Stamps the creation of an account: its `createdAt` tells which night is its first. @throws StoreUnavailable */
export async function accountCreation(deps: TransitionDeps, reader: FleetReader, at: number): Promise<Transition> {
  const stamp = await stampNow(deps, reader, at);
  return { at: stamp.at, expect: [stamp.expect], write: stamp.write };
}

async function stampNow(deps: TransitionDeps, reader: FleetReader, at: number): Promise<DayStamp> {
  return stampDay(await reader.day(), at, deps.clockWatch.trusts(at));
}

/** M1: an instant never before the change before it, and within the day that the change counts for. */
const within = ({ day, at }: DayStamp, previous: number): number => Math.min(Math.max(at, previous), endOfDay(day) - 1);

const withStatusChange = (stamp: DayStamp, at: number, write: Write, expectation: Expectation): Transition => ({
  at,
  expect: [stamp.expect, expectation],
  write: [...stamp.write, write],
});
