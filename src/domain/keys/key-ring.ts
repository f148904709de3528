import { createHmac } from 'node:crypto';
import type { RandomSource } from '../credentials/random-ids.ts';

/**
 * The numbered key-encryption keys, 32 bytes each. A record of the store says which one is active (active-key.ts); the
 * others only open what was sealed under them. The caller reads the file that they come from.
 */
export interface KeyRing {
  /** The greatest number. */
  readonly newest: number;
  /** All numbers, ascending; another array whenever the ring has been replaced. */
  readonly numbers: readonly number[];
  key(number: number): Buffer | undefined;
  /** 64 bits that distinguish this key from another one of the same number, and reveal nothing else of it. */
  fingerprint(number: number): string | undefined;
}

/** A ring that can be replaced while others use it: a key that leaves it is gone for all of them at once. */
export class LiveKeyRing implements KeyRing {
  #ring: KeyRing;

  constructor(ring: KeyRing) {
    this.#ring = ring;
  }

  get newest(): number {
    return this.#ring.newest;
  }

  get numbers(): readonly number[] {
    return this.#ring.numbers;
  }

  key(number: number): Buffer | undefined {
    return this.#ring.key(number);
  }

  fingerprint(number: number): string | undefined {
    return this.#ring.fingerprint(number);
  }

  replace(ring: KeyRing): void {
    this.#ring = ring;
  }
}

const KEY_BYTES = 32;
const KEYS_MAX = 100;
const LINE = /^(?:(\d{1,9}):)?([A-Za-z0-9+/]{43}=)$/;

/**
 * Parses the text of a key file: lines `N:<base64 of 32 bytes>`; a base64 line without a number is key 1; blank lines
 * and lines that begin with `#` are ignored.
 * @throws Error that names the line and the rule, never the line's content
 */
export function parseKeyRing(text: string): KeyRing {
  const keys = new Map<number, Buffer>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const at = `line ${index + 1}`;
    const match = LINE.exec(line.trim());
    const key = Buffer.from(match?.[2] ?? '', 'base64');
    if (!match || key.length !== KEY_BYTES) throw new Error(`${at}: expected N:<base64 of 32 bytes>`);
    const number = Number(match[1] ?? '1');
    if (number < 1) throw new Error(`${at}: keys are numbered from 1`);
    if (keys.has(number)) throw new Error(`${at}: key ${number} stands twice`);
    keys.set(number, key);
  }
  if (keys.size === 0) throw new Error('no key in it: expected at least one line N:<base64 of 32 bytes>');
  if (keys.size > KEYS_MAX) throw new Error(`more than ${KEYS_MAX} keys in it`);
  const numbers = [...keys.keys()].sort((a, b) => a - b);
  const fingerprints = new Map([...keys].map(([number, key]) => [number, fingerprintOf(key)]));
  return {
    newest: Math.max(...numbers),
    numbers,
    key: (number) => keys.get(number),
    fingerprint: (number) => fingerprints.get(number),
  };
}

/** The fingerprint is one-way: 256 random bits cannot be found from it. */
const fingerprintOf = (key: Buffer): string =>
  createHmac('sha256', key).update('muster key fingerprint').digest('hex').slice(0, 16);

/**
 * Generates a key with the number after the greatest one, and adds its line to the text of a key file.
 * @throws Error as `parseKeyRing`, also where the file would have too many keys
 */
export function addedKey(text: string, random: RandomSource): { readonly number: number; readonly text: string } {
  const number = parseKeyRing(text).newest + 1;
  const line = `${number}:${random.bytes(KEY_BYTES).toString('base64')}\n`;
  const longer = `${text}${text.endsWith('\n') ? '' : '\n'}${line}`;
  parseKeyRing(longer);
  return { number, text: longer };
}

/** Generates a key and returns the text of a key file with it. */
export const newKeyFile = (random: RandomSource): string => `1:${random.bytes(KEY_BYTES).toString('base64')}\n`;
