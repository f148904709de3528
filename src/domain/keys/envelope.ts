import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { RandomSource } from '../credentials/random-ids.ts';
import { Secret } from '../credentials/secret.ts';
import type { Sealed } from '../records/shapes.ts';
import { keyIsMissing } from '../refusal.ts';
import type { KeyRing } from './key-ring.ts';

/*
 * Envelope encryption (O9): each text is encrypted under a data key of its own, and the data key under a numbered
 * key-encryption key, both with AES-256-GCM. The context (account and field) is bound to both as additional data, so
 * that a ciphertext moved to another account does not open. Both boxes are nonce (12 bytes), ciphertext, tag (16),
 * base64.
 */

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const DATA_KEY_BYTES = 32;

function encrypt(key: Buffer, nonce: Buffer, plain: Buffer, context: string): string {
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

/** Returns undefined when the box was not made with this key and context, or was altered. */
function decrypt(key: Buffer, text: string, context: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** Seals and opens secrets (O9). */
export interface Envelope {
  /** The greatest key number that this replica has. */
  readonly newest: number;
  /** The numbers of the keys that it opens with; another array whenever these have changed. */
  readonly keyNumbers: readonly number[];
  /**
   * Encrypts a text.
   * @param context what the text belongs to, e.g. `otel-header:<accountId>`; the same is needed to open it
   * @param keyNumber the number of the active key (active-key.ts)
   * @throws ConfigurationFault where this replica does not have that key
   */
  seal(text: Secret, context: string, keyNumber: number): Sealed;
  /**
   * Decrypts a text; undefined where its key is not in the ring any more, or the box was altered or belongs elsewhere.
   * @throws ConfigurationFault where the key is newer than every key of this replica: its key file is behind
   */
  open(sealed: Sealed, context: string): Secret | undefined;
  /**
   * Returns the same box with its data key wrapped by another key; undefined where it does not open.
   * @throws ConfigurationFault as `seal` and `open` do
   */
  rewrap(sealed: Sealed, context: string, keyNumber: number): Sealed | undefined;
}

/** Creates the envelope encryption with the keys of a ring, which may be replaced meanwhile; see `Envelope`. */
export function createEnvelope(keyRing: KeyRing, random: RandomSource): Envelope {
  function wrap(dataKey: Buffer, context: string, keyNumber: number): string {
    const wrapping = keyRing.key(keyNumber);
    if (!wrapping) throw keyIsMissing(keyNumber);
    return encrypt(wrapping, random.bytes(NONCE_BYTES), dataKey, `key:${context}`);
  }

  function unwrap(sealed: Sealed, context: string): Buffer | undefined {
    // Keys come into use in the order of their numbers: this one is in use, and not in this key file yet.
    if (sealed.keyNumber > keyRing.newest) throw keyIsMissing(sealed.keyNumber);
    const wrapping = keyRing.key(sealed.keyNumber);
    const dataKey = wrapping && decrypt(wrapping, sealed.wrappedKey, `key:${context}`);
    return dataKey?.length === DATA_KEY_BYTES ? dataKey : undefined;
  }

  return {
    get newest() {
      return keyRing.newest;
    },

    get keyNumbers() {
      return keyRing.numbers;
    },

    seal(text, context, keyNumber) {
      const dataKey = random.bytes(DATA_KEY_BYTES);
      const wrappedKey = wrap(dataKey, context, keyNumber);
      const box = encrypt(dataKey, random.bytes(NONCE_BYTES), Buffer.from(text.reveal()), context);
      dataKey.fill(0);
      return { keyNumber, wrappedKey, box };
    },

    open(sealed, context) {
      const dataKey = unwrap(sealed, context);
      const plain = dataKey && decrypt(dataKey, sealed.box, context);
      dataKey?.fill(0);
      return plain && new Secret(plain.toString());
    },

    rewrap(sealed, context, keyNumber) {
      const dataKey = unwrap(sealed, context);
      if (!dataKey) return undefined;
      const wrappedKey = wrap(dataKey, context, keyNumber);
      dataKey.fill(0);
      return { ...sealed, keyNumber, wrappedKey };
    },
  };
}
