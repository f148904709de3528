import { LIMITS } from '../limits.ts';

/*
 * The judgement whether machines share one credential, for the device plane and for OpAMP alike: machines that live
 * side by side come in turn. A machine that was replaced, has started anew or has moved does not come back.
 */

/**
 * Whether whoever comes now and somebody else have come in turn so often, whoever came between.
 * @param before who came, the oldest first
 * @param times the turns, this one included: 4 are A, B, A and B
 */
export function takesTurns<T>(before: readonly T[], taker: T, times: number): boolean {
  return [...new Set(before)].some((other) => other !== taker && turnsOf(before, other, taker) >= times);
}

function turnsOf<T>(before: readonly T[], other: T, taker: T): number {
  let turns = 0;
  let last: T | undefined;
  for (const each of [...before, taker]) {
    if (each === last || (each !== other && each !== taker)) continue;
    turns += 1;
    last = each;
  }
  return turns;
}

/** Somebody came, or came again and again with nobody between; `at` is the last time, in milliseconds. */
export interface Turn {
  readonly taker: number;
  readonly at: number;
}

/** Takers below it are places, and are compared with all others. */
const PLACES = 2 ** 16;

/**
 * The taker at a place, below 65,536, who shows an id, too. The ids tell two of these apart, wherever they are: such a
 * taker is compared with those that show none.
 */
export const withId = (place: number): number => place + PLACES;
export const showsId = (taker: number): boolean => taker >= PLACES;
const placeOf = (taker: number): number => taker % PLACES;

const areCompared = (one: number, other: number): boolean =>
  placeOf(one) !== placeOf(other) && !(showsId(one) && showsId(other));

/** Fewer turns are a machine that moves to another network and back. */
const TURNS = 4;

/** Whether two places take turns, one of which shows no id in any of its turns. */
function areInTurn(before: readonly number[], taker: number): boolean {
  const own = placeOf(taker);
  const among = (isTaken: (other: number) => boolean): boolean =>
    takesTurns(before.filter((other) => !showsId(other) || isTaken(other)).map(placeOf), own, TURNS);
  return among((other) => placeOf(other) === own) || (!showsId(taker) && among((other) => placeOf(other) !== own));
}

/** The turns that still count. */
export const recentTurns = (turns: readonly Turn[], now: number): readonly Turn[] =>
  turns.filter(({ at }) => at >= now - LIMITS.sharingWindowMs && at <= now);

/**
 * Notes that somebody comes. Turns of the last 10 minutes are kept, of so many takers at most: those who came first,
 * since of many machines in a circle the latest never come again. Of a taker's turns with none between them that is
 * compared with it, the last is kept. So turns without a finding are fewer than twice the takers where none shows an id
 * (Davenport-Schinzel sequences of order 2), and than the square of the takers in any case: nobody who came between two
 * turns of a taker comes again.
 * @param before the turns so far, the oldest first
 * @returns the turns with this one, and whether two take turns
 */
export function withTurn(
  before: readonly Turn[],
  { taker, at }: Turn,
  takersMax: number = LIMITS.sharingTakersMax,
): { readonly turns: readonly Turn[]; readonly isShared: boolean } {
  const recent = recentTurns(before, at);
  const takers = recent.map((turn) => turn.taker);
  const known = new Set(takers);
  if (!known.has(taker) && known.size >= takersMax) return { turns: recent, isShared: false };
  const last = takers.lastIndexOf(taker);
  const isSameTurn = !takers.slice(last + 1).some((other) => areCompared(other, taker));
  const others = last >= 0 && isSameTurn ? recent.toSpliced(last, 1) : recent;
  return { turns: [...others, { taker, at }], isShared: areInTurn(takers, taker) };
}
