import * as z from 'zod';
import type { Entry } from '../../../store/port.ts';
import { BadRecord, parseRecord, put } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import type { Span } from './clock-interval.ts';
import type { WindowRules } from './rules.ts';

/* `rate/<accountId>` on etcd: what the replicas know together of an account's last minute. */

/** Units spent in the bucket that begins at this instant of the spender's wall clock. */
export interface Spent {
  readonly at: number;
  readonly units: number;
}

/** What a replica may admit without asking: a slice ahead, or what it charges for requests that wait. */
export interface Hold {
  /** Of the commit that put it; each replica counts its own. */
  readonly nonce: number;
  readonly units: number;
  /** By its wall clock its holder admits nothing from it from then on. */
  readonly until: number;
  readonly slice: boolean;
  /** So many units more its holder would like to have of a slice: who returns some while much is left adds them here. */
  readonly wants?: number | undefined;
}

export interface WindowRecord {
  /** Oldest first, one of each bucket. */
  readonly spent: readonly Spent[];
  /** By replica: its last one, settled or not, until it counts no more. */
  readonly holds: Readonly<Record<string, Hold>>;
  /** Slices that their holders shall return at once (`sliceName`). */
  readonly wanted: readonly string[];
}

export const NO_WINDOW: WindowRecord = { spent: [], holds: {}, wanted: [] };

export const bucketOf = (at: number, { bucketMs }: WindowRules): number => Math.floor(at / bucketMs) * bucketMs;

export const sliceName = (replicaId: string, nonce: number): string => `${replicaId}/${nonce}`;

export const hasHold = ({ holds }: WindowRecord, name: string): boolean =>
  Object.entries(holds).some(([replicaId, { nonce }]) => sliceName(replicaId, nonce) === name);

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
  return { spent: spent.map(([since, units]) => ({ at: from + since, units })), holds, wanted };
}

export function putWindow(accountId: string, { spent, holds, wanted }: WindowRecord): ReturnType<typeof put> {
  const from = spent[0]?.at ?? 0;
  return put(KEYS.rateWindow(accountId), {
    from,
    spent: spent.map(({ at, units }) => [at - from, units]),
    holds,
    wanted,
  });
}

/** The units of both, by bucket; what is added is little, and as a rule new. */
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

/** Without what counts no more. A slice that is wanted is wanted for as long as it is there. */
export function pruned({ spent, holds, wanted }: WindowRecord, now: Span, rules: WindowRules): WindowRecord {
  const counting = Object.entries(holds).filter(([, { until }]) => now.earliest < until + rules.endedCountsMs);
  const slices = new Set(counting.filter(([, { slice }]) => slice).map(([id, { nonce }]) => sliceName(id, nonce)));
  return {
    spent: spent.filter(({ at }) => now.earliest < at + rules.bucketCountsMs),
    holds: Object.fromEntries(counting),
    wanted: wanted.filter((name) => slices.has(name)),
  };
}

/** What lies further ahead than clocks differ was written by a wrong clock; it counts as of now, and so has an end. */
export function withoutFuture(record: WindowRecord, now: Span, rules: WindowRules): WindowRecord {
  const latest = now.latest + 2 * rules.clocksDifferMs;
  const untilMax = latest + rules.sliceToldMs;
  const isSound = ({ until }: Hold): boolean => until <= untilMax;
  if ((record.spent.at(-1)?.at ?? 0) <= latest && Object.values(record.holds).every(isSound)) return record;
  const ahead = record.spent.filter(({ at }) => at > latest);
  const units = ahead.reduce((sum, one) => sum + one.units, 0);
  const at = bucketOf(now.latest, rules);
  return {
    ...record,
    spent: addSpent(record.spent.slice(0, record.spent.length - ahead.length), units > 0 ? [{ at, units }] : []),
    holds: Object.fromEntries(
      Object.entries(record.holds).map(([id, hold]) => [id, isSound(hold) ? hold : { ...hold, until: untilMax }]),
    ),
  };
}

/**
 * A record that nobody can read stands for one in which all is spent, nobody knows when: like what a wrong clock wrote
 * ahead it is put right once, and counts from then on.
 */
export function readWindowOrFull(entry: Entry, { requestsMax }: WindowRules): WindowRecord {
  try {
    return readWindow(entry);
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    return { ...NO_WINDOW, spent: [{ at: Number.MAX_SAFE_INTEGER, units: requestsMax }] };
  }
}
