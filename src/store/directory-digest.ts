import { crc32 } from 'node:zlib';

/** How many keys, and a sum over keys and revisions that does not depend on their order. */
export interface Digest {
  readonly count: number;
  readonly sum: number;
}

/** Sums stay exact up to two million keys: 2^21 terms below 2^32. */
export function digestOf(held: Iterable<readonly [key: string, revision: number]>): Digest {
  let count = 0;
  let sum = 0;
  for (const [key, revision] of held) {
    count += 1;
    sum += crc32(`${key}@${revision}`);
  }
  return { count, sum };
}
