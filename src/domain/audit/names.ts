import * as z from 'zod';
import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import { StoreUnavailable, type Key, type Store, type Write } from '../../store/port.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { type AuditRecord, OPERATOR_AUDIT, tokenOfActor } from '../records/audit-records.ts';
import { BadRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

/*
 * An entry of the audit keeps the names that its actor and its target had when it was written, beside their ids: a
 * person, a key or an app may be renamed or deleted later. No change gives these names itself. They are read in one
 * place: from the records that the change writes, or else from those that it was planned with.
 */

/** The ids of an entry, from which its actor and its target follow; those of earlier versions have them as well. */
export type EntryIds = Pick<AuditRecord, 'appId'> & { readonly detail?: AuditRecord['detail'] | undefined };

/** The kinds of targets, each with the detail that has its id; the first one that an entry has is its target. */
const TARGET_DETAILS = {
  'access-token': 'tokenId',
  key: 'keyId',
  user: 'userId',
  link: 'linkId',
  account: 'accountId',
} as const;

/**
 * The target of an entry, in the way in which actors are named: `app:ID`, `access-token:ID`, `key:ID`, `user:ID`,
 * `link:ID` or `account:ID`; undefined where it was none of these.
 */
export function targetOf(accountId: string, { appId, detail = {} }: EntryIds): string | undefined {
  if (appId !== undefined) return `app:${appId}`;
  for (const [kind, field] of Object.entries(TARGET_DETAILS)) {
    const id = detail[field];
    // The service is no account, though the export of its audit says where that was.
    if (typeof id === 'string' && id !== OPERATOR_AUDIT) return `${kind}:${id}`;
  }
  return accountId === OPERATOR_AUDIT ? undefined : `account:${accountId}`;
}

/**
 * The name of an actor: the one that the entry keeps, or the one that the actor's id is; undefined for a person, a key
 * or a daemon without a name, and in entries of earlier versions.
 */
export function actorNameOf({ actor, actorName }: Pick<AuditRecord, 'actor' | 'actorName'>): string | undefined {
  if (actorName !== undefined) return actorName;
  const [kind, id] = partsOf(actor);
  return kind in RECORDS ? undefined : id || kind;
}

/** What has a record with a name, by its kind in the audit: the key of that record. */
const RECORDS: Readonly<Record<string, (accountId: string, id: string) => Key>> = {
  user: (_accountId, id) => KEYS.user(id),
  'access-token': (_accountId, id) => KEYS.accessToken(id),
  key: (accountId, id) => KEYS.apiKey(accountId, id),
  app: (accountId, id) => KEYS.app(accountId, id),
  // An app of another account has no name here: an account must not learn it.
  device: (accountId, id) => KEYS.app(accountId, id),
  account: (_accountId, id) => KEYS.account(id),
};

/** Reads the name that somebody or something has, as the audit of an account names it. */
export type ReadName = (accountId: string, named: string) => MaybePromise<string | undefined>;

/** The name of a person who acts by an access token is followed by that of the token, in brackets. */
const withTokens =
  (read: ReadName): ReadName =>
  async (accountId, named) => {
    const by = tokenOfActor(named);
    if (!by) return await read(accountId, named);
    const person = await read(accountId, `user:${by.userId}`);
    const token = await read(accountId, `access-token:${by.tokenId}`);
    return person === undefined || token === undefined ? person : `${person} (${token})`;
  };

type NameReader = Pick<FleetReader, 'account' | 'user' | 'accessToken'>;

/** The names as a reader has them: what a plan has read before costs no further read. */
export const namesRead = (reader: NameReader): ReadName =>
  withTokens(async (accountId, named) => {
    const [kind, id] = partsOf(named);
    if (kind === 'user') return (await reader.user(id))?.record.name;
    if (kind === 'access-token') return (await reader.accessToken(id))?.record.name;
    const account = await reader.account(kind === 'account' ? id : accountId);
    if (kind === 'account') return account?.record.name;
    return (await (kind === 'key' ? account?.apiKey(id) : account?.app(id)))?.record.name;
  });

/** The names as the store has them, for a change that is made without a reader. */
export const namesStored = (store: Pick<Store, 'get'>): ReadName =>
  withTokens(async (accountId, named) => {
    const [kind, id] = partsOf(named);
    const key = RECORDS[kind]?.(accountId, id);
    const entry = key && (await store.get(key));
    return entry && nameIn(entry.value);
  });

/** The names of an entry, as its record keeps them. */
export type EntryNames = Pick<AuditRecord, 'actorName' | 'targetName'>;

/**
 * The names of an entry that is about to be written. One that cannot be read is left out: it keeps no change from being
 * made.
 * @param written what the commit puts, by key: what it creates has its name there, and what it renames its new one
 */
export async function namesOf(
  { accountId, actor, ...ids }: EntryIds & { readonly accountId: string; readonly actor: string },
  written: ReadonlyMap<string, string>,
  read: ReadName,
): Promise<EntryNames> {
  const target = targetOf(accountId, ids);
  const [actorName, targetName] = await Promise.all([
    nameOf(accountId, actor, written, read),
    target === undefined ? undefined : nameOf(accountId, target, written, read),
  ]);
  return { ...(actorName !== undefined && { actorName }), ...(targetName !== undefined && { targetName }) };
}

async function nameOf(
  accountId: string,
  named: string,
  written: ReadonlyMap<string, string>,
  read: ReadName,
): Promise<string | undefined> {
  const [kind, id] = partsOf(named);
  const key = RECORDS[kind]?.(accountId, id);
  if (key === undefined) return undefined;
  const value = written.get(key);
  try {
    return kept(value === undefined ? await read(accountId, named) : nameIn(value));
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof BadRecord) return undefined;
    throw error;
  }
}

/** The name that somebody or something has now, as the audit of an account names it; undefined where it has none. */
export async function nameNow(reader: NameReader, accountId: string, named: string): Promise<string | undefined> {
  return actorNameOf({ actor: named }) ?? (await nameOf(accountId, named, new Map(), namesRead(reader)));
}

/** What writes put, by key. */
export const putBy = (writes: readonly Write[]): ReadonlyMap<string, string> =>
  new Map(writes.flatMap((write) => ('put' in write ? [[write.put, write.value] as const] : [])));

/** The kind of an actor or a target, and its id, which may hold colons itself. */
function partsOf(named: string): readonly [kind: string, id: string] {
  const at = named.indexOf(':');
  return at < 0 ? [named, ''] : [named.slice(0, at), named.slice(at + 1)];
}

const withName = z.object({ name: z.string() });

/** The name in the text of a record. */
function nameIn(value: string): string | undefined {
  try {
    return withName.safeParse(JSON.parse(value)).data?.name;
  } catch {
    return undefined;
  }
}

/** A name as an entry keeps it: within its bound, and none where it is empty. */
function kept(name: string | undefined): string | undefined {
  if (name === undefined || name === '') return undefined;
  if (Buffer.byteLength(name) <= LIMITS.auditNameBytesMax) return name;
  let [cut, bytes] = ['', Buffer.byteLength(CUT)];
  for (const character of name) {
    bytes += Buffer.byteLength(character);
    if (bytes > LIMITS.auditNameBytesMax) break;
    cut += character;
  }
  return cut + CUT;
}

/** Follows what is left of a name that is too long. */
const CUT = '…';
