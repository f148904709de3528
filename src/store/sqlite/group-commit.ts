import { randomBytes } from 'node:crypto';
import { expectRevision } from '../entry.ts';
import { epochIdOf } from '../head-value.ts';
import type { Change, CommitResult, Entry, Head, Key, StoreUnavailable, Write } from '../port.ts';
import { ABSENT, HEAD_KEY } from '../port.ts';
import { type Database, endOf } from './database.ts';
import type { PastChange } from './history.ts';
import type { HolderNote } from './holds.ts';

/* A disk transaction that is being put together: each change is judged against the state that those before it left. */

/** The bounds of one disk transaction: it runs in one piece, and nothing else runs meanwhile. */
const GROUP_COMMITS_MAX = 512;
const GROUP_BYTES_MAX = 4 * 1024 * 1024;

/** A commit that waits for its disk transaction. */
export interface PendingCommit {
  readonly change: Change;
  readonly note: HolderNote | undefined;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (err: StoreUnavailable) => void;
}

/** The state of the store: as of the last disk commit, or, inside a group, as its members left it so far. */
export interface Position {
  readonly revision: number;
  readonly head: Head;
}

/** The changes of one disk transaction. None of them counts before the transaction is on disk. */
export class Group {
  position: Position;
  readonly changes: PastChange[] = [];
  readonly #database: Database;
  readonly #before: Position;
  /** One epoch id for the whole group: it only has to tell one history of the store from another. */
  readonly #epoch = randomBytes(8).toString('hex');

  constructor(database: Database, position: Position) {
    this.#database = database;
    this.#before = position;
    this.position = position;
  }

  /**
   * Judges one change, and carries out its writes if its expectations hold.
   * @param heldKey the key that the change puts on behalf of a holder
   */
  add(change: Change, heldKey?: string): CommitResult {
    if (!this.#holds(change)) return { outcome: 'conflict' };
    const revision = this.position.revision + 1;
    const created = new Set<string>();
    for (const expected of change.expect) if (expected.revision === ABSENT) created.add(expected.key);
    for (const write of change.write) this.#apply(write, revision, created);
    if (heldKey !== undefined) this.#database.noteHeld(heldKey, revision);
    this.position = { revision, head: change.quiet === true ? this.position.head : this.#moveHead(revision, change) };
    return { outcome: 'committed', revision };
  }

  /** Writes `head` once, as the last change of the group left it. */
  finish(): void {
    const { head } = this.position;
    if (head !== this.#before.head) this.#database.put(entryOf(head));
  }

  #holds({ expect }: Change): boolean {
    return expect.every(({ key, revision }) => this.#revisionOf(key) === revision);
  }

  #revisionOf(key: string): number {
    return key === HEAD_KEY ? this.position.head.revision : this.#database.revisionOf(key);
  }

  #moveHead(revision: number, change: Change): Head {
    const { head } = this.position;
    const epochId = epochIdOf(this.#epoch, [change]);
    const previous = head.revision === ABSENT ? undefined : entryOf(head);
    this.changes.push({ key: HEAD_KEY, revision, value: epochId, previous });
    return { revision, epochId };
  }

  /** @param created keys that are known to be absent: no entry that they replace has to be looked up */
  #apply(write: Write, revision: number, created: ReadonlySet<string>): void {
    if ('put' in write) {
      const { put: key, value } = write;
      const previous = created.has(key) ? undefined : this.#database.get(key);
      this.changes.push({ key, revision, value, previous });
      this.#database.put({ key, value, revision });
    } else if ('remove' in write) {
      const previous = this.#database.get(write.remove);
      if (previous === undefined) return;
      this.changes.push({ key: write.remove, revision, value: undefined, previous });
      this.#database.remove(write.remove);
    } else {
      for (const previous of this.#database.range(write.removeAll, endOf(write.removeAll))) {
        this.changes.push({ key: previous.key, revision, value: undefined, previous });
      }
      this.#database.removeAll(write.removeAll);
    }
  }
}

function entryOf({ revision, epochId }: Head): Entry {
  return { key: HEAD_KEY, value: epochId, revision };
}

/** How many of the pending commits the next transaction takes: at least one, whatever its size. */
export function groupSize(pending: readonly PendingCommit[]): number {
  let bytes = 0;
  const beyond = pending.findIndex((member, index) => {
    bytes += bytesOf([member]);
    return index > 0 && (index >= GROUP_COMMITS_MAX || bytes > GROUP_BYTES_MAX);
  });
  return beyond === -1 ? pending.length : beyond;
}

/** The bytes that commits put. */
export function bytesOf(members: readonly PendingCommit[]): number {
  let bytes = 0;
  for (const { change } of members) {
    for (const write of change.write) if ('put' in write) bytes += write.put.length + write.value.length;
  }
  return bytes;
}

/** Whether a commit may use what is kept for a full disk. */
export const isUrgent = ({ change, note }: PendingCommit): boolean =>
  change.writeClass === 'vital' || note !== undefined;

/** Removes all keys that are noted as held, in a disk transaction of its own. */
export function withoutHeld(database: Database, position: Position): Group {
  const group = new Group(database, position);
  const [first, ...others] = Array.from(database.held(), ([key, revision]) => expectRevision(key, revision));
  if (first === undefined) return group;
  const write = [first, ...others].map(({ key }) => ({ remove: key as Key }));
  const change: Change = { expect: [first, ...others], write, quiet: true };
  database.transaction(() => {
    const results = group.add(change);
    database.forgetHeld();
    return { revision: group.position.revision, results };
  });
  return group;
}
