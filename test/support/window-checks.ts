import type { History } from './window-simulation.ts';

/** What DECISIONS H13 promises, held to what happened; each is a list of sentences, empty when the promise was kept. */

const WINDOW_MS = 60_000;
const PROMISED_MS = 62_500;
/** What was granted at the moment of a refusal is admitted when its answer has travelled. */
const ON_ITS_WAY_MS = 250;
const MAX = 600;
/** A hold and the time that it counts after its end, and what is needed to be back. */
const FAULT_ECHO_MS = 31_500 + 61_000 + 5000;
const HELD_MAX = 200;

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

export function falseRefusals(history: History): string[] {
  const { admitted, refused, writes, faults } = history;
  // H13: with one process exactly a minute.
  const promisedMs = writes.size === 1 && faults.length === 0 ? WINDOW_MS : PROMISED_MS;
  const short = refused
    .map((at) => ({ at, lacking: MAX - countBetween(admitted, at - promisedMs, at + ON_ITS_WAY_MS) }))
    .filter(({ at, lacking }) => lacking > mayBeLacking(history, at));
  return short.slice(0, 1).map(({ at, lacking }) => `${short.length} refused early, at ${at} with ${lacking} left`);
}

/** How many units short of 600 the worst refusal was. */
export const worstShortage = ({ admitted, refused }: History): number =>
  Math.max(0, ...refused.map((at) => MAX - countBetween(admitted, at - PROMISED_MS, at + ON_ITS_WAY_MS)));

/** More than 4 writes of a replica within a minute in which more than 200 were left all the time. */
export function tooManyWrites({ admitted, writes }: History, perMinute = 4, left = 200): string[] {
  return [...writes].flatMap(([replica, instants]) => {
    const many = instants.findIndex((at, index) => {
      const last = instants[index + perMinute] ?? Number.POSITIVE_INFINITY;
      return last - at < WINDOW_MS && mostUsed(admitted, at, last) < MAX - left;
    });
    const [first = 0, last = 0] = [instants[many], instants[many + perMinute]];
    return many < 0 ? [] : [`${replica} wrote ${perMinute + 1} times within ${last - first} ms, from ${first}`];
  });
}

function mostUsed(admitted: readonly number[], from: number, to: number): number {
  const within = admitted.slice(firstAfter(admitted, from), firstAfter(admitted, to));
  return Math.max(...[from, ...within].map((at) => countBetween(admitted, at - PROMISED_MS, at)));
}
