import * as z from 'zod';
import type { Entry } from '../../../store/port.ts';
import { BadRecord, parseRecord, put } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import type { ClockInterval } from './clock-interval.ts';
import type { WindowRules } from './rules.ts';

/*
 * `rate/<accountId>` on etcd: the replicas' shared knowledge of an account's last minute. The stored names are older
 * than these words: `holds` are leases, `slice` marks an allotment, `wants` is its demand, `wanted` is what is
 * recalled. They are kept, since replicas of two versions share the record; only this file knows them.
 */

/** Units spent in the bucket that begins at this instant of the spender's wall clock. */
export interface Spent {
  readonly at: number;
  readonly units: number;
}

/** Units that a replica may admit without asking: an allotment ahead, or a charge for requests that wait. */
export interface Lease {
  /** Names the commit that put it; each replica counts its own. */
  readonly nonce: number;
  readonly units: number;
  /** From this instant of its own wall clock the holder admits nothing from it. */
  readonly until: number;
  /** Whether it is an allotment; false for a charge. */
  readonly isAllotment: boolean;
  /**
   * How many more units the holder of an allotment needs: a replica that returns some while much is left adds them
   * here.
   */
  readonly demand?: number | undefined;
}

export interface WindowRecord {
  /** Oldest first, one of each bucket. */
  readonly spent: readonly Spent[];
  /** The last lease of each replica, by replica, settled or not, until it counts no more. */
  readonly leases: Readonly<Record<string, Lease>>;
  /** Allotments that their holders must return at once (`leaseName`). */
  readonly recalled: readonly string[];
}

export const NO_WINDOW: WindowRecord = { spent: [], leases: {}, recalled: [] };

export const bucketOf = (at: number, { bucketMs }: WindowRules): number => Math.floor(at / bucketMs) * bucketMs;

export const leaseName = (replicaId: string, nonce: number): string => `${replicaId}/${nonce}`;

export const hasLease = ({ leases }: WindowRecord, name: string): boolean =>
  Object.entries(leases).some(([replicaId, { nonce }]) => leaseName(replicaId, nonce) === name);

const holdSchema = z.looseObject({
  nonce: z.int().min(0),
  units: z.int().min(0),
  until: z.int().min(0),
  slice: z.boolean(),
  wants: z.int().min(0).optional(),
});
export const sharedWindowSchema = z.looseObject({
  /** The instant that `spent` counts from, in milliseconds. */
  from: z.int().min(0),
  /** Milliseconds since `from`, and units. */
  spent: z.array(z.tuple([z.int(), z.int().min(1)])).max(10_000),
  holds: z.record(z.string(), holdSchema),
  wanted: z.array(z.string()).max(1000),
});

/** @throws BadRecord */
export function readWindow(entry: Entry): WindowRecord {
  const { from, spent, holds, wanted } = parseRecord(sharedWindowSchema, entry).record;
  const leases: Record<string, Lease> = {};
  for (const [replicaId, { slice, wants, ...rest }] of Object.entries(holds)) {
    leases[replicaId] = { ...rest, isAllotment: slice, demand: wants };
  }
  return { spent: spent.map(([since, units]) => ({ at: from + since, units })), leases, recalled: wanted };
}

export function putWindow(accountId: string, { spent, leases, recalled }: WindowRecord): ReturnType<typeof put> {
  const from = spent[0]?.at ?? 0;
  const holds: Record<string, z.infer<typeof holdSchema>> = {};
  for (const [replicaId, { isAllotment, demand, ...rest }] of Object.entries(leases)) {
    holds[replicaId] = { ...rest, slice: isAllotment, ...(demand !== undefined && { wants: demand }) };
  }
  return put(KEYS.rateWindow(accountId), {
    from,
    spent: spent.map(({ at, units }) => [at - from, units]),
    holds,
    wanted: recalled,
  });
}

/** The units of both, by bucket. `more` is short, and its buckets are new as a rule. */
export function addSpent(some: readonly Spent[], more: readonly Spent[]): readonly Spent[] {
  if (more.length === 0) return some;
  const all = [...some];
  for (const one of more) {
    const index = all.findLastIndex(({ at }) => at <= one.at);
    const same = all[index];
    if (same?.at === one.at) all[index] = { at: one.at, units: same.units + one.units };
    else all.splice(index + 1, 0, one);
  }
  return all;
}

/** The record without what counts no more. An allotment stays recalled for as long as it is in the record. */
export function pruned(
  { spent, leases, recalled }: WindowRecord,
  now: ClockInterval,
  rules: WindowRules,
): WindowRecord {
  const counting = Object.entries(leases).filter(([, { until }]) => now.earliest < until + rules.endedCountsMs);
  const allotments = new Set(
    counting.filter(([, { isAllotment }]) => isAllotment).map(([id, { nonce }]) => leaseName(id, nonce)),
  );
  return {
    spent: spent.filter(({ at }) => now.earliest < at + rules.bucketCountsMs),
    leases: Object.fromEntries(counting),
    recalled: recalled.filter((name) => allotments.has(name)),
  };
}

/** An instant further ahead than clocks differ comes from a wrong clock: it counts as now, so that it has an end. */
export function withoutFuture(record: WindowRecord, now: ClockInterval, rules: WindowRules): WindowRecord {
  const latest = now.latest + 2 * rules.clocksDifferMs;
  const untilMax = latest + rules.allotmentRecordedMs;
  const isSound = ({ until }: Lease): boolean => until <= untilMax;
  if ((record.spent.at(-1)?.at ?? 0) <= latest && Object.values(record.leases).every(isSound)) return record;
  const ahead = record.spent.filter(({ at }) => at > latest);
  const units = ahead.reduce((sum, one) => sum + one.units, 0);
  const at = bucketOf(now.latest, rules);
  return {
    ...record,
    spent: addSpent(record.spent.slice(0, record.spent.length - ahead.length), units > 0 ? [{ at, units }] : []),
    leases: Object.fromEntries(
      Object.entries(record.leases).map(([id, lease]) => [id, isSound(lease) ? lease : { ...lease, until: untilMax }]),
    ),
  };
}

/**
 * Reads a record; one that cannot be parsed stands for a window that is spent whole at an unknown instant. Like a
 * record of a wrong clock that is ahead, it is corrected once, and counts from then on.
 */
export function readWindowOrFull(entry: Entry, { requestsMax }: WindowRules): WindowRecord {
  try {
    return readWindow(entry);
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    return { ...NO_WINDOW, spent: [{ at: Number.MAX_SAFE_INTEGER, units: requestsMax }] };
  }
}
