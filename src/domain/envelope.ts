import { createCipheriv, createDecipheriv } from 'node:crypto';
import * as z from 'zod';
import type { KeyRing } from './key-ring.ts';
import { Secret } from './secret.ts';
import type { Draw } from './secrets.ts';

/**
 * Envelope encryption (O9): each text is encrypted under a data key of its own, and the data key under a numbered
 * key-encryption key, both with AES-256-GCM. The context (account and field) is bound to both as additional data, so
 * that a ciphertext moved to another account does not open. Both boxes are nonce (12 bytes), ciphertext, tag (16), base64.
 */
export const sealedSchema = z.looseObject({
  /** Which key-encryption key wraps the data key. */
  keyNumber: z.int().min(1),
  wrappedKey: z.string().max(200),
  box: z.string().max(200_000),
});
export type Sealed = z.infer<typeof sealedSchema>;

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const DATA_KEY_BYTES = 32;

function encrypt(key: Buffer, nonce: Buffer, plain: Buffer, context: string): string {
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

/** Undefined when the box was not made with this key and context, or was altered. */
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

export interface Envelope {
  /** @param context what the text belongs to, e.g. `otel-header:<accountId>`; the same is needed to open it */
  seal(text: Secret, context: string): Sealed;
  /** Undefined where the key is not in the ring any more, or the box was altered or belongs elsewhere. */
  open(sealed: Sealed, context: string): Secret | undefined;
}

export function createEnvelope(keyRing: KeyRing, draw: Draw): Envelope {
  return {
    seal(text, context) {
      const keyNumber = keyRing.newest;
      const wrapping = keyRing.key(keyNumber);
      if (!wrapping) throw new Error(`key ring: key ${keyNumber} is missing`);
      const dataKey = draw.bytes(DATA_KEY_BYTES);
      const wrappedKey = encrypt(wrapping, draw.bytes(NONCE_BYTES), dataKey, `key:${context}`);
      const box = encrypt(dataKey, draw.bytes(NONCE_BYTES), Buffer.from(text.reveal()), context);
      dataKey.fill(0);
      return { keyNumber, wrappedKey, box };
    },

    open(sealed, context) {
      const wrapping = keyRing.key(sealed.keyNumber);
      const dataKey = wrapping && decrypt(wrapping, sealed.wrappedKey, `key:${context}`);
      if (dataKey?.length !== DATA_KEY_BYTES) return undefined;
      const plain = decrypt(dataKey, sealed.box, context);
      dataKey.fill(0);
      return plain && new Secret(plain.toString());
    },
  };
}
