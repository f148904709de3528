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
