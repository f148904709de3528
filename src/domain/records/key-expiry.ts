import type { ApiKeyRecord } from './account-records.ts';

/*
 * A key that expires has its hash in another field than one that does not: a program that does not know of the expiry
 * finds no hash, and refuses it from the beginning (docs/adr/0033-api-keys-that-expire.md).
 */

/** The fields of a record by which a key is found to be right, and until when; `expiresAt` in ms since 1970. */
export function keyFields(hash: string, expiresAt: number | undefined): Pick<ApiKeyRecord, 'hash' | 'expiring'> {
  return expiresAt === undefined ? { hash } : { hash: '', expiring: { hash, expiresAt } };
}

/** SHA-256 of the whole key, base64url. */
export const hashOfKey = ({ hash, expiring }: ApiKeyRecord): string => expiring?.hash ?? hash;

/** A11: a key is valid while now < expiresAt. */
export const isExpiredKey = ({ expiring }: ApiKeyRecord, now: number): boolean =>
  expiring !== undefined && now >= expiring.expiresAt;

/** The record with an expiry that is no later than this; one that it has stays where that is earlier. */
export function endingBy(record: ApiKeyRecord, expiresAt: number): ApiKeyRecord {
  const earlier = Math.min(record.expiring?.expiresAt ?? Infinity, expiresAt);
  return { ...record, hash: '', expiring: { ...record.expiring, hash: hashOfKey(record), expiresAt: earlier } };
}
