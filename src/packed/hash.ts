import { randomBytes } from 'node:crypto';

/** The seeds are this process's own: nobody can choose keys so that their hashes meet here. */
const SEED = randomBytes(4).readUInt32LE();
const OTHER_SEED = randomBytes(4).readUInt32LE();

/**
 * 32 bits of a text of printable ASCII: FNV-1a from a seed of this process, and MurmurHash3's finalizer, which makes
 * all bits depend on the last characters too.
 */
export const hashOfText = (text: string): number => hashFrom(SEED, text);

/** 53 bits of a text: among a million texts, two have the same in one of 20,000 processes. */
export const fingerprintOf = (text: string): number =>
  (hashFrom(OTHER_SEED, text) >>> 11) * 2 ** 32 + hashFrom(SEED, text);

/**
 * 32 bits of a text, the same in every process: for what replicas tell each other, and nobody gains by a collision.
 * @param seed the hash of the text before it, where it is one of several
 */
export const hashOfShared = (text: string, seed = FNV_BASIS): number => hashFrom(seed, text);

function hashFrom(seed: number, text: string): number {
  let hash = seed;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  return mixed(hash);
}

/** The hash that `hashOfText` gives the text in these bytes. */
export function hashOfBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = SEED;
  for (let i = start; i < end; i += 1) hash = Math.imul(hash ^ (bytes[i] ?? 0), FNV_PRIME);
  return mixed(hash);
}

/** 32 bits of an integer up to 2^53. */
export const hashOfNumber = (value: number): number =>
  mixed(SEED ^ (value | 0) ^ Math.imul(value / 2 ** 32, FNV_PRIME));

/** Whether these bytes are the text, of ASCII, and nothing else lies before `end`. */
export function isTextAt(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let i = 0; i < text.length; i += 1) if (bytes[start + i] !== text.charCodeAt(i)) return false;
  return true;
}

const FNV_PRIME = 0x01000193;
const FNV_BASIS = 0x811c9dc5;

function mixed(hash: number): number {
  let mix = hash ^ (hash >>> 16);
  mix = Math.imul(mix, 0x85ebca6b);
  mix ^= mix >>> 13;
  mix = Math.imul(mix, 0xc2b2ae35);
  return (mix ^ (mix >>> 16)) >>> 0;
}
