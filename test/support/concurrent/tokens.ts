import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/* Ids and secrets for records that a test plants. They have the shapes that docs/CONTRACT.md gives them. */

const LOWER = 'abcdefghijklmnopqrstuvwxyz0123456789';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_CHARACTERS = 43;
const CHECKSUM_DIGITS = 6;

const word = (alphabet: string, length: number): string =>
  Array.from(randomBytes(length), (byte) => alphabet.charAt(byte % alphabet.length)).join('');

/** An id of lower-case letters and digits: 20 characters for an app, 16 for an account or a user, 12 for a key. */
export const newId = (length: 12 | 16 | 20): string => word(LOWER, length);

/** A secret of 43 base62 characters with the checksum that keys, codes and credentials end with. */
export function checkedToken(prefix: string): string {
  const body = `${prefix}${word(BASE62, SECRET_CHARACTERS)}`;
  let rest = crc32(body);
  let checksum = '';
  for (let digit = 0; digit < CHECKSUM_DIGITS; digit += 1) {
    checksum = BASE62.charAt(rest % BASE62.length) + checksum;
    rest = Math.floor(rest / BASE62.length);
  }
  return body + checksum;
}

/** A secret without a checksum, as links and sessions have it. */
export const plainToken = (prefix: string): string => `${prefix}${word(BASE62, SECRET_CHARACTERS)}`;

/** The hash under which the store has a secret. */
export const hashOf = (token: string): string => hash('sha256', token, 'base64url');

/** The same hash, as a daemon sends it. */
export const hexHashOf = (token: string): string => hash('sha256', token, 'hex');
