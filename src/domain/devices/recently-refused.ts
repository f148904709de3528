/**
 * Credentials that were rejected recently: a daemon whose credential was revoked keeps retrying with it, and its answer
 * may wait. An entry decides nothing: each retry is authenticated anew.
 */
export interface RefusedLately {
  has(hash: string): boolean;
  add(hash: string): void;
}

const PER_GENERATION_MAX = 250_000;

/**
 * Two sets are swapped when one is full: a credential that keeps being retried stays in one of them, without a
 * clean-up.
 */
export function createRefusedLately(perGenerationMax = PER_GENERATION_MAX): RefusedLately {
  let current = new Set<number>();
  let last = new Set<number>();
  return {
    has: (hash) => current.size + last.size > 0 && [current, last].some((refused) => refused.has(beginning(hash))),
    add(hash) {
      current.add(beginning(hash));
      if (current.size < perGenerationMax) return;
      last = current;
      current = new Set();
    },
  };
}

/** 48 bits of the hash, a fifth of its memory. Two that share them are mistaken for each other, to no harm. */
const beginning = (hash: string): number => Buffer.from(hash.slice(0, 8), 'base64url').readUIntBE(0, 6);
