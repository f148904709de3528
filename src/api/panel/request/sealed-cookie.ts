import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { RandomSource } from '../../../domain/credentials/random-ids.ts';
import { derivedKey } from '../../../domain/keys/derived-key.ts';
import type { KeyRing } from '../../../domain/keys/key-ring.ts';
import type { Clock } from '../../../time/clock.ts';

/*
 * The state of a sign-in that is under way lies in the browser, sealed: before a sign-in the store keeps nothing, so
 * that nobody fills it. AES-256-GCM under a key that is derived from the newest of the key file, and bound to its
 * purpose; `<number>.<nonce 12 bytes><ciphertext><tag 16 bytes>`, base64url.
 */

/** Seals values for the browser, for a bounded time. */
export interface SealedCookies {
  /** @param purpose the kind of sign-in, which the value can be opened for alone */
  seal(purpose: string, value: object): string;
  /** The value; undefined where it was sealed by nobody, for another purpose, too long ago, or under a retired key. */
  open(purpose: string, sealed: string): unknown;
}

/** The time that a person has at the provider, or with a passkey. */
export const FLOW_SECONDS = 600;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SEALED = /^(\d{1,9})\.([A-Za-z0-9_-]{38,6000})$/;

export function createSealedCookies(deps: {
  readonly keyRing: KeyRing;
  readonly random: RandomSource;
  readonly clock: Pick<Clock, 'now'>;
}): SealedCookies {
  const { keyRing, random, clock } = deps;
  const keyOf = (number: number): Buffer | undefined => {
    const key = keyRing.key(number);
    return key && derivedKey(key, 'panel cookies');
  };
  return {
    seal(purpose, value) {
      const number = keyRing.newest;
      const key = keyOf(number);
      if (!key) throw new Error('The newest key is not in the key ring.');
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
      const text = JSON.stringify({ until: clock.now() + FLOW_SECONDS * 1000, value });
      const sealed = Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
      return `${number}.${sealed.toString('base64url')}`;
    },
    open(purpose, sealed) {
      const [, number, text] = SEALED.exec(sealed) ?? [];
      const key = number === undefined ? undefined : keyOf(Number(number));
      if (!key || text === undefined) return undefined;
      const opened = decrypt(key, purpose, Buffer.from(text, 'base64url'));
      if (opened === undefined) return undefined;
      const { until, value } = JSON.parse(opened) as { until: number; value: unknown };
      return clock.now() < until ? value : undefined;
    },
  };
}

function decrypt(key: Buffer, purpose: string, sealed: Buffer): string | undefined {
  if (sealed.length <= NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(purpose))
    .setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString();
  } catch {
    return undefined;
  }
}
