/**
 * Credentials that were rejected recently, by hash. A daemon whose credential was revoked keeps retrying with it, and
 * its retries may wait for a read of `head` that another request begins (store/watch-cache/deferred-read.ts). An entry
 * decides only how long a retry may wait, never its answer: each retry is authenticated anew.
 *
 * Without it a retry shares the next read as every poll does; what is lost then is the pace of a daemon that retries in
 * a loop. Such a daemon has no app, and so no rate limit. Measured with one connection that retries without a pause, on
 * etcd: 1 request, 1 read of `head` and 0.02 cores a second with it, 800 requests, 800 reads and 0.8 cores without it
 * (client included); with 64 connections, 76 and 2,009 requests a second.
 */
export interface RecentlyRejected {
  has(hash: string): boolean;
  add(hash: string): void;
}

const PER_GENERATION_MAX = 250_000;

/**
 * Two sets are swapped when one is full: a credential that keeps being retried stays in one of them, without a
 * clean-up.
 */
export function createRecentlyRejected(perGenerationMax = PER_GENERATION_MAX): RecentlyRejected {
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
