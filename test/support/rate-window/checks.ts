import { readWindow } from '../../../src/domain/rate-window/shared/record-codec.ts';
import { leaseName, NO_WINDOW, type WindowRecord } from '../../../src/domain/rate-window/shared/record.ts';
import { WINDOW_RULES } from '../../../src/domain/rate-window/shared/rules.ts';
import { LASTS_MS, type History, type Written } from './simulation.ts';
import { rawKey } from '../store/raw-key.ts';

/** The promises of H13, checked against a history: each check returns sentences, none when the promise was kept. */

const WINDOW_MS = 60_000;
const PROMISED_MS = 62_500;
/** No request waits longer for a decision. */
const WAITS_MAX_MS = 2000;
const MAX = 600;
/** How long a fault shows: an allotment, the time that it counts after its end, and the time to recover. */
const FAULT_ECHO_MS = 31_500 + 61_000 + 5000;
const ALLOTMENT_MAX = 200;
const WRITES_MAX = 4;
const AMPLE = 200;

/** How many of the sorted instants lie in (from, to]. */
function countBetween(sorted: readonly number[], from: number, to: number): number {
  return firstAfter(sorted, to) - firstAfter(sorted, from);
}

function firstAfter(sorted: readonly number[], instant: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) <= instant) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function overAdmissions({ admitted, writes, rateError }: History): string[] {
  // A replica that shares the window with nobody counts exactly 60 s, by its own clock.
  const windowMs = writes.size === 1 ? WINDOW_MS * (1 - rateError) : WINDOW_MS;
  const over = admitted.findIndex((at, index) => (admitted[index + MAX] ?? Number.POSITIVE_INFINITY) - at < windowMs);
  if (over < 0) return [];
  const [first = 0, last = 0] = [admitted[over], admitted[over + MAX]];
  return [`601 were admitted within ${last - first} ms, from ${first}`];
}

/**
 * Units that recent faults may withhold: the allotments of the replicas in trouble; all units for a minute
 * where a replica does not know how old anything is.
 */
function withheldAtMost({ faults }: History, now: number): number {
  const lately = faults.filter(({ at, until }) => at <= now && now <= until + FAULT_ECHO_MS);
  if (lately.some(({ knowsNoAges }) => knowsNoAges)) return MAX;
  return ALLOTMENT_MAX * new Set(lately.map(({ replica }) => replica)).size;
}

/**
 * Units that were taken when a request was refused: they were spent within the time before, or later by requests that
 * waited already. For the last seconds of a run it is not known which requests waited.
 */
function takenAt({ admitted, waitedSince }: History, at: number, withinMs: number): number {
  let taken = countBetween(admitted, at - withinMs, at);
  for (let index = firstAfter(admitted, at); (admitted[index] ?? Infinity) <= at + WAITS_MAX_MS; index += 1) {
    if ((waitedSince[index] ?? Infinity) <= at) taken += 1;
  }
  return taken;
}

export function falseRefusals(history: History): string[] {
  const { refused, writes, faults, rateError } = history;
  // H13: the window of one process is exactly a minute.
  const promisedMs = writes.size === 1 && faults.length === 0 ? WINDOW_MS * (1 + rateError) : PROMISED_MS;
  const short = refused
    .map((at) => ({ at, lacking: MAX - takenAt(history, at, promisedMs) }))
    .filter(({ at, lacking }) => at <= LASTS_MS - WAITS_MAX_MS && lacking > withheldAtMost(history, at));
  return short.slice(0, 1).map(({ at, lacking }) => `${short.length} refused early, at ${at} with ${lacking} left`);
}

/** Replicas understand each other: a warning says that one could not read what another wrote. */
export const misunderstandings = ({ warnings }: History): string[] =>
  warnings.slice(0, 1).map((line) => `${warnings.length} warnings, the first: ${line}`);

/**
 * Finds more than 4 writes of a replica within a minute in which more than 200 were left all the time. Only writes that
 * took free units count: where others hold the allotments, the replica that needs units and the holder both write as
 * often as requests move on.
 */
export function tooManyWrites({ admitted, writes }: History): string[] {
  return [...writes].flatMap(([replica, all]) => {
    if (!fiveWrites(all, admitted)) return [];
    const many = fiveWrites(
      all.filter((one) => tookFreeUnits(replica, one)),
      admitted,
    );
    return many ? [`${replica} wrote at ${many.map(({ at }) => Math.round(at)).join(', ')}`] : [];
  });
}

function fiveWrites(all: readonly Written[], admitted: readonly number[]): readonly Written[] | undefined {
  const first = all.findIndex(({ at }, index) => {
    const last = all[index + WRITES_MAX]?.at ?? Number.POSITIVE_INFINITY;
    return last - at < WINDOW_MS && mostUsed(admitted, at, last) < MAX - AMPLE;
  });
  return first < 0 ? undefined : all.slice(first, first + WRITES_MAX + 1);
}

const VIEW = { now: 0, wall: 0, instantOf: () => 0 };

/** Whether the write neither answered a recall nor recalled anything. */
function tookFreeUnits(replicaId: string, { before, after }: Written): boolean {
  const read = (value: string): WindowRecord =>
    readWindow({ key: rawKey(''), value, revision: Number.MAX_SAFE_INTEGER }, VIEW, WINDOW_RULES).record;
  const known = before === undefined ? NO_WINDOW : read(before);
  const mine = known.leases[replicaId];
  const wasRecalled = mine !== undefined && known.recalled.includes(leaseName(replicaId, mine.nonce));
  return !wasRecalled && read(after).recalled.every((name) => known.recalled.includes(name));
}

function mostUsed(admitted: readonly number[], from: number, to: number): number {
  const within = admitted.slice(firstAfter(admitted, from), firstAfter(admitted, to));
  return Math.max(...[from, ...within].map((at) => countBetween(admitted, at - PROMISED_MS, at)));
}
