declare const named: unique symbol;
declare const begins: unique symbol;
/**
 * The key of a record, and the type of what it holds. Only a declared kind of record makes one
 * (domain/records/registry.ts), or a read of the store: so that nothing is written that no part of the service knows
 * of.
 */
export type Key<T = unknown> = string & { readonly [named]: T };
/** The beginning of the keys of several records; it ends with a whole part of them. */
export type KeyPrefix = string & { readonly [begins]: true };

/** A value at rest, with the store revision of its last write. */
export interface Entry {
  readonly key: Key;
  readonly value: string;
  readonly revision: number;
}

/** The revision that stands for "no such key" in an expectation. */
export const ABSENT = 0;

/**
 * Marks the types that only the functions below make, and the classes of memory and reader that hold what was read. It
 * exists for the compiler alone.
 */
export declare const made: unique symbol;

/**
 * One read of a key: the revision that it found, or `ABSENT`. It never changes. A decision is made by one snapshot, and
 * its commit expects the same one: a revision that is read later may belong to a newer value than the one that was
 * judged.
 */
export interface Snapshot {
  readonly key: Key;
  readonly revision: number;
  readonly [made]: 'snapshot';
}

/**
 * The condition of a commit: the key still is at this revision, or is absent. It can only be made of what was read, so
 * that a revision as a number, taken from elsewhere or at another moment, does not compile.
 */
export interface Expectation {
  readonly key: string;
  readonly revision: number;
  readonly [made]: 'expectation';
}

const snapshot = (key: Key, revision: number): Snapshot => ({ key, revision }) as Snapshot;

/** For stores alone, which give the revisions out themselves: the port does not offer it. */
export const expectRevision = (key: string, revision: number): Expectation => ({ key, revision }) as Expectation;

/** The snapshot of an entry that was read. */
export const snapshotOf = ({ key, revision }: Pick<Entry, 'key' | 'revision' | 'value'>): Snapshot =>
  snapshot(key, revision);

/** The snapshot of a key that was not there. */
export const absentSnapshot = (key: Key): Snapshot => snapshot(key, ABSENT);

/** The snapshot that this process's own commit has made of a key that it wrote. */
export const committedSnapshot = (
  key: Key,
  result: { readonly outcome: 'committed'; readonly revision: number },
): Snapshot => snapshot(key, result.revision);

/** Expects that a key is as it was read, or still absent where it was. */
export const expectUnchanged = ({ key, revision }: Snapshot | Entry): Expectation => expectRevision(key, revision);

/** Expects that there is no such key. */
export const expectAbsent = (key: string): Expectation => expectRevision(key, ABSENT);

/** Expects that a key is as it was read; `undefined` where the read found none. */
export const expectAsFound = (key: string, read: Snapshot | Entry | undefined): Expectation =>
  read ? expectUnchanged(read) : expectAbsent(key);

/** Expects that a key is still held, as it is now: the fence of a leader's term. */
export const expectHeld = (key: string, held: { readonly revision: number; readonly lost: AbortSignal }): Expectation =>
  expectRevision(key, held.revision);
