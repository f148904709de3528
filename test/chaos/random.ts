/** Numbers from 0 (inclusive) to 1, the same for the same seed (mulberry32). */
export type Random = () => number;

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const whole = (random: Random, below: number): number => Math.floor(random() * below);

export function shuffled<T>(random: Random, all: readonly T[]): T[] {
  const left = [...all];
  return all.flatMap(() => left.splice(whole(random, left.length), 1));
}

/** Where `CI` is set every run makes the same choices, so that a failure can be compared with an earlier one. */
export const CI_SEED = 20_261_121;

/** `CHAOS_SEED`, or the one of continuous integration, or any. Throws RangeError on a seed that is no number. */
export function seedFrom(env: Readonly<Record<string, string | undefined>>): number {
  const { CHAOS_SEED: given = '', CI: ci = '' } = env;
  if (given === '') return ci === '' ? Math.floor(Math.random() * 2 ** 31) : CI_SEED;
  if (!/^\d{1,10}$/.test(given)) throw new RangeError('CHAOS_SEED: give a whole number, such as 4711');
  return Number(given);
}
