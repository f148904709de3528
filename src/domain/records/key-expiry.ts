import type { ApiKeyRecord } from './account-records.ts';

/*
 * A key that expires has its hash in another field than one that does not: a program that does not know of the expiry
 * finds no hash, and refuses it from the beginning. The secret before the last rotation has a field of its own for the
 * same reason (docs/adr/0033-api-keys-that-expire.md).
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

/** The former secret while it works: it ends with the key, or before. */
export function workingFormer(record: ApiKeyRecord, now: number): ApiKeyRecord['former'] {
  const { former } = record;
  return former && now < former.expiresAt && !isExpiredKey(record, now) ? former : undefined;
}

/** The hash of the secret of a key that matches, the present one or the former one; undefined where neither does. */
export function matchedSecret(record: ApiKeyRecord, matches: (hash: string) => boolean): string | undefined {
  const present = hashOfKey(record);
  if (matches(present)) return present;
  return record.former && matches(record.former.hash) ? record.former.hash : undefined;
}

/** Whether a secret of a key, by its hash, has had its time. */
export const isExpiredSecret = (record: ApiKeyRecord, hash: string, now: number): boolean =>
  hash === hashOfKey(record) ? isExpiredKey(record, now) : workingFormer(record, now)?.hash !== hash;

/** The secrets by which a key works, with their makers. */
const workingOf = (record: ApiKeyRecord, now: number): readonly Pick<ApiKeyRecord, 'createdBy'>[] =>
  [record, workingFormer(record, now)].filter((secret) => secret !== undefined);

/** A17: whether the user knows a secret by which the key works, from having made it. */
export const isMadeBy = (record: ApiKeyRecord, userId: string, now: number): boolean =>
  workingOf(record, now).some(({ createdBy }) => createdBy === `user:${userId}`);

/** A17: whether a secret by which the key works was made by nobody who is known as a user. */
export const isOfNobodyKnown = (record: ApiKeyRecord, now: number): boolean =>
  workingOf(record, now).some(({ createdBy }) => createdBy?.startsWith('user:') !== true);

/** The record with an expiry that is no later than this; one that it has stays where that is earlier. */
export function endingBy(record: ApiKeyRecord, expiresAt: number): ApiKeyRecord {
  const earlier = Math.min(record.expiring?.expiresAt ?? Infinity, expiresAt);
  return { ...record, hash: '', expiring: { ...record.expiring, hash: hashOfKey(record), expiresAt: earlier } };
}

/**
 * The record with another secret, made by the actor; the present secret is the former one until `formerUntil`, or until
 * the key expires. The former one that it had ends.
 * @param formerUntil undefined where the present secret ends at once
 */
export function withSecret(
  record: ApiKeyRecord,
  { hash, createdBy, formerUntil }: { hash: string; createdBy: string; formerUntil: number | undefined },
): ApiKeyRecord {
  const { former: _ended, createdBy: maker, expiring, ...rest } = record;
  const former = formerUntil !== undefined && {
    former: {
      hash: hashOfKey(record),
      expiresAt: Math.min(formerUntil, expiring?.expiresAt ?? Infinity),
      ...(maker !== undefined && { createdBy: maker }),
    },
  };
  return { ...rest, ...keyFields(hash, expiring?.expiresAt), createdBy, ...former };
}
