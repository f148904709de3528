import type * as z from 'zod';
import type { Key, KeyPrefix, WriteClass, Write } from '../../store/port.ts';

/*
 * A record of the store is declared once, by `record()`, in a file of this folder: its key, its shape and what becomes
 * of it. `keys.ts` folds the declarations, and the classes of a full store, the doctor, backup and restore, the
 * deletion of an app or a user and the table of docs/ARCHITECTURE.md follow from it.
 */

/** The values of a pattern's names. */
type Values<P extends string> = P extends `${string}<${string}>${infer Rest}`
  ? [value: string | number, ...Values<Rest>]
  : [];
type Leading<V extends readonly unknown[]> = V extends [...infer Before, unknown] ? Before | Leading<Before> : never;
type LeadingValues<P extends string> = Leading<Values<P>>;

/** Every name that a pattern may have. */
type Name = PlainName | OwnerName;
type PlainName =
  | 'accountId'
  | 'answerer'
  | 'day'
  | 'dayOfMonth'
  | 'digest'
  | 'entry'
  | 'keyId'
  | 'keyNumber'
  | 'marker'
  | 'month'
  | 'name'
  | 'nonce'
  | 'number'
  | 'pinId'
  | 'replicaId'
  | 'scope'
  | 'sessionId'
  | 'slot'
  | 'tokenHash'
  | 'tokenId'
  | 'uid';
/** The names that lead to an app or a user: `owner` is an id of several kinds. */
type OwnerName = 'appId' | 'userId' | 'credentialHash' | 'loginHash' | 'identityHash' | 'passkeyHash' | 'owner';

type NamesOf<P extends string> = P extends `${string}<${infer N}>${infer Rest}` ? N | NamesOf<Rest> : never;
/** `never` for a pattern with a name of no meaning. */
type Known<P extends string> = [NamesOf<P>] extends [Name] ? unknown : never;

/** A record that belongs to an app or a user says what the deletion of it does. */
type Ending<P extends string> = [NamesOf<P> & OwnerName] extends [never]
  ? { readonly ownedBy?: never; readonly outlives?: never; readonly removedBy?: never }
  : | (NamesOf<P> & ('appId' | 'userId') extends never
        ? never
        : {
            readonly ownedBy: 'appId' extends NamesOf<P> ? 'app' : 'user';
            readonly outlives?: never;
            readonly removedBy?: never;
          })
    | { readonly outlives: string; readonly ownedBy?: never; readonly removedBy?: never }
    | { readonly removedBy: string; readonly ownedBy?: never; readonly outlives?: never };

interface Facts<S> {
  /** The shape of the record. Objects are loose: fields of a newer minor version survive a rewrite by this one. */
  readonly schema: S;
  /**
   * The class of a commit that puts the record and names none. `by commit`: the commit names its class, that of a
   * mutation (domain/mutation/actions.ts) or of `UNAUDITED_CLASSES`.
   */
  readonly writeClass: WriteClass | 'by commit';
  /**
   * Whether a backup has the record; domain/backup/restore-rules.ts has those that a restore does not write as they
   * are.
   */
  readonly backup: 'kept' | 'left out';
  /** Describes the record in docs/ARCHITECTURE.md. */
  readonly holds: string;
}

/** A kind of record as it is declared. */
export interface Declared<S extends z.ZodType = z.ZodType> extends Facts<S> {
  readonly pattern: string;
  /** The record is removed with its app or user, by its key. */
  readonly ownedBy?: 'app' | 'user' | undefined;
  /** The reason for which the record stays when its app or user is deleted. */
  readonly outlives?: string | undefined;
  /** The code that removes the record of an app or a user that its key does not tell. */
  readonly removedBy?: string | undefined;
}

/** A kind of record; called with the values of the names in its pattern, it makes the key of one. */
export interface Kind<P extends string, S extends z.ZodType, V extends readonly unknown[]> extends Declared<S> {
  (...values: V): Key<z.infer<S>>;
  /** The beginning of the keys that have these values in the first names. */
  under(...values: LeadingValues<P>): KeyPrefix;
}

export type RecordOf<K extends { readonly schema: z.ZodType }> = z.infer<K['schema']>;

/**
 * Declares a kind of record.
 * @param pattern its key, with names in angle brackets; the text is what lies in the store, and never changes
 * @param partsOf makes the values of the names, where a key is made of others
 */
export function record<const P extends string, S extends z.ZodType, V extends readonly unknown[] = Values<P>>(
  pattern: P & Known<P>,
  facts: Facts<S> & Ending<P>,
  partsOf?: (...values: V) => Values<P>,
): Kind<P, S, V> {
  const parts = pattern.split(/<\w+>/);
  const [first = '', second = '', third = ''] = parts;
  const names = parts.length - 1;
  const textOf = (values: readonly unknown[]): string => {
    if (names === 1) return `${first}${String(values[0])}${second}`;
    if (names === 2) return `${first}${String(values[0])}${second}${String(values[1])}${third}`;
    return filled(parts, values);
  };
  const key = (...values: V): Key<z.infer<S>> => textOf(partsOf ? partsOf(...values) : values) as Key<z.infer<S>>;
  const under = (...values: LeadingValues<P>): KeyPrefix =>
    (values.length === 0 ? first : filled(parts.slice(0, values.length + 1), values)) as KeyPrefix;
  const declared: Omit<Declared<S>, 'pattern'> = facts;
  return Object.assign(key, declared, { pattern, under });
}

/**
 * The write that removes the records of a pattern that have these values: one key, or all that begin with them.
 * @throws RangeError where the values stand for no name, so that other records would go, too
 */
export function removalOf(pattern: string, values: Readonly<Record<string, string>>): Write {
  let [key, at] = ['', 0];
  const missing = new Set(Object.keys(values));
  for (const { 0: found, 1: name = '', index } of pattern.matchAll(/<(\w+)>/g)) {
    key += pattern.slice(at, index);
    const value = values[name];
    if (value === undefined) break;
    missing.delete(name);
    key += value;
    at = index + found.length;
  }
  if (missing.size > 0) throw new RangeError(`${pattern} does not begin with ${[...missing].join(', ')}`);
  return at === pattern.length ? { remove: key as Key } : { removeAll: key as KeyPrefix };
}

/** The parts of a key with the values between them. */
const filled = (parts: readonly string[], values: readonly unknown[]): string =>
  parts.reduce((text, part, at) => text + String(values[at - 1]) + part);
