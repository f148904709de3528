import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { BASE62, generateKeyId, generateSecretWord, type RandomSource } from './random-ids.ts';
import { Secret } from './secret.ts';

/*
 * Bearer tokens: a fixed prefix that secret scanners find, 256 random bits, and a checksum: six base62 digits of the
 * CRC-32 over everything before them, so that junk is refused without a read of any record. Only the SHA-256 of the
 * whole token is stored: over 256 random bits a slow hash would protect nothing, and would help denial of service.
 */

const API_KEY = /^mst_live_([a-z0-9]{12})_[0-9A-Za-z]{49}$/;
const ACCESS_TOKEN = /^mst_pat_([a-z0-9]{12})_[0-9A-Za-z]{49}$/;
const ENROLL_CODE = /^mst_code_[0-9A-Za-z]{49}$/;
/** A daemon may make its own credential, without a checksum (docs/CONTRACT.md#device-enroll). */
const CREDENTIAL = /^mst_dev_[A-Za-z0-9_-]{43,128}$/;
const CHECKSUM_DIGITS = 6;

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_DIGITS; i += 1) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

const withChecksum = (text: string): string => text + checksum(text);

function hasChecksum(token: string): boolean {
  const body = token.slice(0, -CHECKSUM_DIGITS);
  return token.endsWith(checksum(body));
}

interface GeneratedApiKey {
  readonly keyId: string;
  readonly token: Secret;
}

/** `mst_live_<keyId 12>_<secret 43><checksum 6>` */
export function generateApiKey(random: RandomSource): GeneratedApiKey {
  const keyId = generateKeyId(random);
  return { keyId, token: apiKeyOf(keyId, random) };
}

/** The same with an id that is there: another secret of that key. */
export const apiKeyOf = (keyId: string, random: RandomSource): Secret =>
  new Secret(withChecksum(`mst_live_${keyId}_${generateSecretWord(random)}`));

interface GeneratedAccessToken {
  readonly tokenId: string;
  readonly token: Secret;
}

/** `mst_pat_<tokenId 12>_<secret 43><checksum 6>` */
export function generateAccessToken(random: RandomSource): GeneratedAccessToken {
  const tokenId = generateKeyId(random);
  return { tokenId, token: new Secret(withChecksum(`mst_pat_${tokenId}_${generateSecretWord(random)}`)) };
}

/** `mst_code_<secret 43><checksum 6>` */
export const generateEnrollCode = (random: RandomSource): Secret =>
  new Secret(withChecksum(`mst_code_${generateSecretWord(random)}`));

/** `mst_dev_<secret 43><checksum 6>` */
export const generateCredential = (random: RandomSource): Secret =>
  new Secret(withChecksum(`mst_dev_${generateSecretWord(random)}`));

/** Returns the key id of a well-formed API key; undefined where its shape or checksum is wrong (H16). */
export function apiKeyId(token: string): string | undefined {
  const keyId = API_KEY.exec(token)?.[1];
  return keyId !== undefined && hasChecksum(token) ? keyId : undefined;
}

/** Returns the id of a well-formed access token; undefined where its shape or checksum is wrong. */
export function accessTokenId(token: string): string | undefined {
  const tokenId = ACCESS_TOKEN.exec(token)?.[1];
  return tokenId !== undefined && hasChecksum(token) ? tokenId : undefined;
}

/** Whether a text has the shape and the checksum of an enroll code. */
export const isEnrollCode = (token: string): boolean => ENROLL_CODE.test(token) && hasChecksum(token);
/** Whether a text has the shape of a device credential. */
export const isCredential = (token: string): boolean => CREDENTIAL.test(token);

/** SHA-256 of the whole token, base64url: it is stored in place of the token, and credentials are looked up by it. */
export const tokenHash = (token: string): string => hash('sha256', token, 'base64url');

/** Converts a daemon's `credentialHash`, 64 hex digits, to the form that `tokenHash` returns. */
export const hashFromHex = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url');

/**
 * Returns the token of `Authorization: Bearer <token>`; the scheme is case-insensitive (RFC 9110, 11.1).
 * @param fields every Authorization field of the request; with more than one there is no token (H16)
 */
export function bearerToken(fields: readonly string[]): string | undefined {
  const [field] = fields;
  if (field === undefined || fields.length !== 1) return undefined;
  return /^bearer +([^\s]+) *$/i.exec(field)?.[1];
}
