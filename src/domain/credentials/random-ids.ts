import { randomFillSync } from 'node:crypto';

/** A source of randomness for ids and secrets. It is passed in, so that a test can replace it. */
export interface RandomSource {
  /** Returns random bytes of cryptographic quality, in a buffer that the caller owns. */
  bytes(count: number): Buffer;
}

const POOL_BYTES = 8192;

/** The system's randomness, read in blocks: one system call per request would cost too much. */
export function systemRandom(): RandomSource {
  const pool = Buffer.allocUnsafe(POOL_BYTES);
  let used = POOL_BYTES;
  return {
    bytes(count) {
      if (count > POOL_BYTES) return randomFillSync(Buffer.allocUnsafe(count));
      if (used + count > POOL_BYTES) {
        randomFillSync(pool);
        used = 0;
      }
      const taken = Buffer.from(pool.subarray(used, used + count));
      // Bytes that were handed out do not stay in the pool.
      pool.fill(0, used, used + count);
      used += count;
      return taken;
    },
  };
}

const LOWER = 'abcdefghijklmnopqrstuvwxyz0123456789';
export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns a uniform word over the alphabet: bytes past the last whole multiple of its size are discarded. */
function word(random: RandomSource, alphabet: string, length: number): string {
  const fair = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of random.bytes(length + (length >> 2) + 4)) {
      if (byte < fair && text.length < length) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}

/** 103 bits, `^[a-z0-9]{20}$` (section 2.1). An id is never used again, because it is never generated again. */
export const generateAppId = (random: RandomSource): string => word(random, LOWER, 20);
/** 82 bits, `^[a-z0-9]{16}$`. */
export const generateAccountId = (random: RandomSource): string => word(random, LOWER, 16);
/** 62 bits, `^[a-z0-9]{12}$`. */
export const generateKeyId = (random: RandomSource): string => word(random, LOWER, 12);
/** 256 bits as 43 base62 characters. */
export const generateSecretWord = (random: RandomSource): string => word(random, BASE62, 43);
/** 128 bits as 32 hex digits. A marker names a commit in the audit (docs/ARCHITECTURE.md, "A mutation"). */
export const generateMarker = (random: RandomSource): string => random.bytes(16).toString('hex');
/** 64 bits as 16 hex digits. A tag distinguishes two contents with the same revision. */
export const generateTag = (random: RandomSource): string => random.bytes(8).toString('hex');
