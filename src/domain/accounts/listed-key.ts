import { nameNow } from '../audit/names.ts';
import type { ApiKeyEntry, FleetReader } from '../fleet/reader.ts';
import { formerEndOf } from '../key-validity/key-expiry.ts';
import { scopeOf, type KeyScope } from '../key-validity/key-restriction.ts';
import type { UseAndCalls } from '../last-uses/last-uses.ts';

/** An API key as the operator API shows it, without its text. Instants are milliseconds since 1970. */
export interface ApiKey extends KeyScope {
  readonly keyId: string;
  readonly name: string;
  readonly createdAt: number;
  /** Undefined where the key does not expire. */
  readonly expiresAt: number | undefined;
}

/** A key as it is listed. */
export interface ListedApiKey extends ApiKey {
  /** When the secret before the last rotation ends; undefined where none works. */
  readonly formerExpiresAt: number | undefined;
  /** The maker of its secret, as the audit names actors; undefined for keys of earlier versions. */
  readonly createdBy: string | undefined;
  /** The name of that maker now; undefined where there is none any more. */
  readonly createdByName: string | undefined;
  /** When a request was last authenticated by it, at most a minute behind; undefined where none was. */
  readonly lastUsedAt: number | undefined;
  /** Requests that it authenticated today and on the six days before, in UTC. */
  readonly calls7d: number;
}

/** @param now in milliseconds since 1970 */
export async function listedKey(
  reader: FleetReader,
  accountId: string,
  { id, record }: ApiKeyEntry,
  use: UseAndCalls | undefined,
  now: number,
): Promise<ListedApiKey> {
  const expiresAt = record.expiring?.expiresAt;
  return {
    keyId: id,
    name: record.name,
    createdAt: record.createdAt,
    expiresAt,
    ...scopeOf(record),
    formerExpiresAt: formerEndOf(record, now),
    createdBy: record.createdBy,
    createdByName: record.createdBy && (await nameNow(reader, accountId, record.createdBy)),
    lastUsedAt: use?.at,
    calls7d: use?.calls ?? 0,
  };
}
