import { NO_WINDOW, readWindow, sliceName, type WindowRecord } from '../../../src/domain/rate-window/shared/record.ts';
import { LASTS_MS, type History, type Written } from './simulation.ts';

/** What H13 promises, held to what happened; each is a list of sentences, empty when the promise was kept. */

const WINDOW_MS = 60_000;
const PROMISED_MS = 62_500;
/** Nobody waits longer for a decision. */
const WAITS_MAX_MS = 2000;
const MAX = 600;
/** A hold and the time that it counts after its end, and what is needed to be back. */
const FAULT_ECHO_MS = 31_500 + 61_000 + 5000;
const HELD_MAX = 200;
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

export function overAdmissions({ admitted }: History): string[] {
  const over = admitted.findIndex((at, index) => (admitted[index + MAX] ?? Number.POSITIVE_INFINITY) - at < WINDOW_MS);
  if (over < 0) return [];
  const [first = 0, last = 0] = [admitted[over], admitted[over + MAX]];
  return [`601 were admitted within ${last - first} ms, from ${first}`];
}

/** What replicas held that were in trouble lately; one that slept counts all for longer, for a minute. */
function mayBeLacking({ faults }: History, now: number): number {
  const lately = faults.filter(({ at, until }) => at <= now && now <= until + FAULT_ECHO_MS);
  if (lately.some(({ suspended }) => suspended)) return MAX;
  return HELD_MAX * new Set(lately.map(({ replica }) => replica)).size;
}

/**
 * Places that were taken when somebody was refused: used within the time, or given to those that waited then. Of the last
 * seconds it is not known who waited.
 */
function takenAt({ admitted, waitedSince }: History, at: number, withinMs: number): number {
  let taken = countBetween(admitted, at - withinMs, at);
  for (let index = firstAfter(admitted, at); (admitted[index] ?? Infinity) <= at + WAITS_MAX_MS; index += 1) {
    if ((waitedSince[index] ?? Infinity) <= at) taken += 1;
  }
  return taken;
}

export function falseRefusals(history: History): string[] {
  const { refused, writes, faults } = history;
  // H13: with one process exactly a minute.
  const promisedMs = writes.size === 1 && faults.length === 0 ? WINDOW_MS : PROMISED_MS;
  const short = refused
    .map((at) => ({ at, lacking: MAX - takenAt(history, at, promisedMs) }))
    .filter(({ at, lacking }) => at <= LASTS_MS - WAITS_MAX_MS && lacking > mayBeLacking(history, at));
  return short.slice(0, 1).map(({ at, lacking }) => `${short.length} refused early, at ${at} with ${lacking} left`);
}

/**
 * More than 4 writes of a replica within a minute in which more than 200 were left all the time: of those that took what
 * was free. Where others hold what is needed, whoever needs it writes, and who holds it, as often as requests move on.
 */
export function tooManyWrites({ admitted, writes }: History): string[] {
  return [...writes].flatMap(([replica, all]) => {
    if (!fiveWrites(all, admitted)) return [];
    const many = fiveWrites(
      all.filter((one) => tookWhatWasFree(replica, one)),
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

/** Neither did it answer others, who had asked for what was held, nor did it ask them. */
function tookWhatWasFree(replicaId: string, { before, after }: Written): boolean {
  const read = (value: string): WindowRecord => readWindow({ key: '', value, revision: 1 });
  const known = before === undefined ? NO_WINDOW : read(before);
  const mine = known.holds[replicaId];
  const isAsked = mine !== undefined && known.wanted.includes(sliceName(replicaId, mine.nonce));
  return !isAsked && read(after).wanted.every((name) => known.wanted.includes(name));
}

function mostUsed(admitted: readonly number[], from: number, to: number): number {
  const within = admitted.slice(firstAfter(admitted, from), firstAfter(admitted, to));
  return Math.max(...[from, ...within].map((at) => countBetween(admitted, at - PROMISED_MS, at)));
}
