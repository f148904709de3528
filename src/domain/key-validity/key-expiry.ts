import { LIMITS } from '../limits.ts';
import type { ApiKeyRecord } from '../records/account-records.ts';

/*
 * A key that expires has its hash in another field than one that does not: a program that does not know of the expiry
 * finds no hash, and refuses it from the beginning. The secret before the last rotation has a field of its own for the
 * same reason, and every hash of a key that may do less is marked (docs/adr/0033-api-keys-that-expire.md).
 */

/** Base64url has no colon: to a program that does not know of restrictions a marked hash is that of no secret. */
const MARK = 'restricted:';
type Restriction = ApiKeyRecord['restriction'];

const marked = (hash: string, restriction: Restriction): string => (restriction ? `${MARK}${hash}` : hash);

/** The hash as it was before it was marked. One of a restricted key that is not marked is that of no secret. */
function plain(hash: string, restriction: Restriction): string {
  if (!restriction) return hash;
  return hash.startsWith(MARK) ? hash.slice(MARK.length) : '';
}

/** The fields of a record by which a key is found to be right, and until when; `expiresAt` in ms since 1970. */
export function keyFields(
  hash: string,
  expiresAt: number | undefined,
  restriction?: Restriction,
): Pick<ApiKeyRecord, 'hash' | 'expiring' | 'restriction'> {
  const held = marked(hash, restriction);
  const limits = restriction && { restriction };
  return expiresAt === undefined
    ? { hash: held, ...limits }
    : { hash: '', expiring: { hash: held, expiresAt }, ...limits };
}

/** SHA-256 of the whole key, base64url. */
export const hashOfKey = ({ hash, expiring, restriction }: ApiKeyRecord): string =>
  plain(expiring?.hash ?? hash, restriction);

const formerHashOf = ({ former, restriction }: ApiKeyRecord): string | undefined =>
  former && plain(former.hash, restriction);

/** The record with another restriction, or without one, and its secrets as they were. */
export function restrictedTo(record: ApiKeyRecord, restriction: Restriction): ApiKeyRecord {
  const { restriction: replaced, hash, expiring, former, ...rest } = record;
  const again = <T extends { readonly hash: string }>(held: T): T => ({
    ...held,
    hash: marked(plain(held.hash, replaced), restriction),
  });
  return {
    ...rest,
    ...(expiring ? { hash: '', expiring: again(expiring) } : again({ hash })),
    ...(former && { former: again(former) }),
    ...(restriction && { restriction }),
  };
}

/** A11: a key is valid while now < expiresAt. */
export const isExpiredKey = ({ expiring }: ApiKeyRecord, now: number): boolean =>
  expiring !== undefined && now >= expiring.expiresAt;

/** Tells whether a key is valid, and expires so soon that its owners are warned. */
export const expiresSoon = (record: ApiKeyRecord, now: number): boolean =>
  record.expiring !== undefined &&
  !isExpiredKey(record, now) &&
  record.expiring.expiresAt <= now + LIMITS.keyExpiryShownMs;

/** The former secret while it works: it ends with the key, or before. */
function workingFormer(record: ApiKeyRecord, now: number): ApiKeyRecord['former'] {
  const { former } = record;
  return former && now < former.expiresAt && !isExpiredKey(record, now) ? former : undefined;
}

/** The instant at which the former secret ends, in milliseconds since 1970; undefined where none works. */
export function formerEndOf(record: ApiKeyRecord, now: number): number | undefined {
  const former = workingFormer(record, now);
  return former && Math.min(former.expiresAt, record.expiring?.expiresAt ?? Infinity);
}

/** The hash of the secret of a key that matches, the present one or the former one; undefined where neither does. */
export function matchedSecret(record: ApiKeyRecord, matches: (hash: string) => boolean): string | undefined {
  const present = hashOfKey(record);
  if (matches(present)) return present;
  const former = formerHashOf(record);
  return former !== undefined && matches(former) ? former : undefined;
}

/** Whether a secret of a key, by its hash, has had its time. */
export const isExpiredSecret = (record: ApiKeyRecord, hash: string, now: number): boolean =>
  hash === hashOfKey(record)
    ? isExpiredKey(record, now)
    : workingFormer(record, now) === undefined || formerHashOf(record) !== hash;

/** The secrets by which a key works, with their makers. */
const workingOf = (record: ApiKeyRecord, now: number): readonly Pick<ApiKeyRecord, 'createdBy'>[] =>
  [record, workingFormer(record, now)].filter((secret) => secret !== undefined);

/** A17: whether the user knows a secret by which the key works, from having made it. */
export const isMadeBy = (record: ApiKeyRecord, userId: string, now: number): boolean =>
  workingOf(record, now).some(({ createdBy }) => createdBy === `user:${userId}`);

/** A17: whether the user, who knows a secret by which the key works, knows the former one alone. */
export const isFormerAlone = ({ createdBy }: ApiKeyRecord, userId: string): boolean => createdBy !== `user:${userId}`;

/** A17: the users who know a secret by which the key works, from having made it. */
export const makersOf = (record: ApiKeyRecord, now: number): ReadonlySet<string> =>
  new Set(
    workingOf(record, now).flatMap(({ createdBy = '' }) =>
      createdBy.startsWith('user:') ? [createdBy.slice('user:'.length)] : [],
    ),
  );

/** A17: whether a secret by which the key works was made by nobody who is known as a user. */
export const isOfNobodyKnown = (record: ApiKeyRecord, now: number): boolean =>
  workingOf(record, now).some(({ createdBy }) => createdBy?.startsWith('user:') !== true);

/** The record with an expiry that is no later than this; one that it has stays where that is earlier. */
export function endingBy(record: ApiKeyRecord, expiresAt: number): ApiKeyRecord {
  const earlier = Math.min(record.expiring?.expiresAt ?? Infinity, expiresAt);
  const held = marked(hashOfKey(record), record.restriction);
  return { ...record, hash: '', expiring: { ...record.expiring, hash: held, expiresAt: earlier } };
}

/** Another secret of a key. Instants are milliseconds since 1970. */
export interface NextSecret {
  readonly hash: string;
  /** Its maker, as the audit names actors; undefined where none of its own is noted, as for a custom resource. */
  readonly createdBy?: string;
  /** The present secret works until then; undefined: it ends at once. */
  readonly formerUntil: number | undefined;
  /** The end of the key from now on; undefined: it never expires. The present secret works no longer by it. */
  readonly expiresAt: number | undefined;
  /** The name of the key from now on; undefined: as it is. */
  readonly name?: string;
}

/**
 * The record with another secret; the present secret is the former one until `formerUntil`, or until the key would have
 * expired with it. The former one that it had ends.
 */
export function withSecret(
  record: ApiKeyRecord,
  { hash, createdBy, formerUntil, expiresAt, name = record.name }: NextSecret,
): ApiKeyRecord {
  const { former: _ended, createdBy: maker, expiring, restriction, ...rest } = record;
  const former = formerUntil !== undefined && {
    former: {
      hash: marked(hashOfKey(record), restriction),
      expiresAt: Math.min(formerUntil, expiring?.expiresAt ?? Infinity),
      ...(maker !== undefined && { createdBy: maker }),
    },
  };
  const by = createdBy !== undefined && { createdBy };
  return { ...rest, name, ...keyFields(hash, expiresAt, restriction), ...by, ...former };
}

/** The record without its former secret. */
export function withoutFormer({ former: _ended, ...rest }: ApiKeyRecord): ApiKeyRecord {
  return rest;
}
