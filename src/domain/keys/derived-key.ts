import { hkdfSync } from 'node:crypto';

/** The uses of a key of the key file beside wrapping data keys. */
type KeyPurpose = 'backup' | 'operator tokens' | 'panel cookies' | 'sign-in names';

/**
 * A key for one purpose alone: HKDF-SHA256 (RFC 5869) of a key of the key file, without salt. It reveals nothing of
 * that key, nor of the keys for other purposes.
 */
export const derivedKey = (key: Buffer, purpose: KeyPurpose): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', purpose, 32));
