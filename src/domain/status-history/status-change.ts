import { ABSENT, type Expectation, type Store, type Write } from '../../store/port.ts';
import { endOfDay, startOfDay } from '../../time/utc-days.ts';
import type { AccountReader, AppEntry, FleetReader } from '../fleet/reader.ts';
import { parseRecord, put } from '../records/codec.ts';
import {
  accountStatusChangeSchema,
  statusChangeSchema,
  type AccountStatusChangeRecord,
  type StatusChangeRecord,
} from '../records/day-records.ts';
import { KEYS } from '../records/keys.ts';
import type { ClockWatch } from './clock-trust.ts';
import { stampDay, type DayStamp } from './day-record.ts';

/*
 * What a night is rebuilt from. Each change of an app's status, and of an account's being disabled, leaves in its own
 * commit what was before it: one small entry a day and app, which outlives the app. The creation of an app leaves none
 * and expects no day: a pending app counts for nothing, and its next change says what it was before.
 */

export interface TransitionDeps {
  readonly store: Pick<Store, 'get'>;
  readonly clockWatch: Pick<ClockWatch, 'trusts'>;
}

/** What the commit of a change expects and writes besides, and the instant of the change. */
export interface Transition {
  readonly at: number;
  readonly expect: readonly Expectation[];
  readonly write: readonly Write[];
}

/**
 * @param after `none` where the app is deleted
 * @param at the instant of the request
 * @throws StoreUnavailable
 */
export async function appTransition(
  deps: TransitionDeps,
  reader: FleetReader,
  app: AppEntry,
  after: StatusChangeRecord['after'],
  at: number,
): Promise<Transition> {
  const { status, statusAt } = app.record;
  // Made by a clock that is a little ahead: whoever believes that instant begins its day, too.
  const notBefore = statusAt > at && deps.clockWatch.trusts(statusAt) ? statusAt : at;
  const stamp = await stampNow(deps, reader, notBefore);
  const key = KEYS.statusChange(stamp.day, app.accountId, app.id);
  // Pending is where an app begins: it has not changed before. And what changed earlier than today has no entry today.
  const changedToday = status !== 'pending' && statusAt >= startOfDay(stamp.day);
  const entry = changedToday ? await deps.store.get(key) : undefined;
  const before = entry && parseRecord(statusChangeSchema, entry);
  const record: StatusChangeRecord = { before: status, ...before?.record, after, at: within(stamp, statusAt) };
  return withLife(stamp, record, { key, revision: before?.revision ?? ABSENT });
}

/** The same of an account; `after` is whether it is disabled from now on. */
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
  const before = entry && parseRecord(accountStatusChangeSchema, entry);
  const previous = before?.record.at ?? account.record.createdAt;
  const record: AccountStatusChangeRecord = { before: !after, ...before?.record, after, at: within(stamp, previous) };
  return withLife(stamp, record, { key, revision: before?.revision ?? ABSENT });
}

/** The creation of an account: its `createdAt` tells which night is its first. */
export async function accountCreation(deps: TransitionDeps, reader: FleetReader, at: number): Promise<Transition> {
  const stamp = await stampNow(deps, reader, at);
  return { at: stamp.at, expect: [stamp.expect], write: stamp.write };
}

async function stampNow(deps: TransitionDeps, reader: FleetReader, at: number): Promise<DayStamp> {
  return stampDay(await reader.day(), at, deps.clockWatch.trusts(at));
}

/** M1: never before what it was before, and within the day that the change counts for, whatever clock told the former. */
const within = ({ day, at }: DayStamp, previous: number): number => Math.min(Math.max(at, previous), endOfDay(day) - 1);

function withLife(
  stamp: DayStamp,
  record: StatusChangeRecord | AccountStatusChangeRecord,
  expectation: Expectation,
): Transition {
  return {
    at: record.at,
    expect: [stamp.expect, expectation],
    write: [...stamp.write, put(expectation.key, record)],
  };
}
