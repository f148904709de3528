import type { Change } from '../port.ts';
import { Claims } from './conflicts.ts';

/** etcd's own bound where `--max-txn-ops` is not set, for the outer transaction and its largest member together. */
const OPERATIONS_MAX = 128;
const MEMBERS_MAX = 40;
/** etcd takes 1.5 MiB (`--max-request-bytes`); one change may be larger than this and goes alone. */
const BYTES_MAX = 1024 * 1024;
/** A bound on the bytes that the wire adds to the keys and values of an operation. */
const BYTES_PER_OPERATION = 32;
/** How many waiting changes are examined: if most of them want one key, examining all would be quadratic. */
const EXAMINED_MAX = 400;

/** A change, and the bytes that it takes of a request. */
export interface Candidate {
  readonly change: Change;
  readonly bytes: number;
}

/** The bytes that a change takes of a request. Keys are ASCII: their length is their bytes. */
export function bytesOf({ expect, write }: Change): number {
  let bytes = (expect.length + write.length) * BYTES_PER_OPERATION;
  for (const { key } of expect) bytes += key.length;
  for (const one of write) {
    if ('put' in one) bytes += one.put.length + Buffer.byteLength(one.value);
    else bytes += 'remove' in one ? one.remove.length : one.removeAll.length;
  }
  return bytes;
}

/**
 * Divides the waiting changes into the group of the next request and those that wait on, both in order of arrival. The
 * first always goes into the group, so that no change waits for ever; no change overtakes one that waits for a key
 * which both want.
 */
export function divide<T extends Candidate>(waiting: readonly T[]): { readonly group: T[]; readonly rest: T[] } {
  const group: T[] = [];
  const rest: T[] = [];
  const claims = new Claims();
  const room = new Room();
  for (const [index, candidate] of waiting.entries()) {
    if (group.length === MEMBERS_MAX || index === EXAMINED_MAX) {
      rest.push(...waiting.slice(index));
      break;
    }
    const fits = room.isFor(candidate) && !claims.clashWith(candidate.change);
    if (fits) room.take(candidate);
    (fits ? group : rest).push(candidate);
    claims.add(candidate.change);
  }
  return { group, rest };
}

/** The room that is left in a request. */
class Room {
  #members = 0;
  #bytes = 0;
  #operations = 0;
  #frees = false;

  isFor({ change, bytes }: Candidate): boolean {
    // A first change goes alone, whatever its size: etcd judges it.
    if (this.#members === 0) return true;
    // A full etcd takes changes that only remove, and none that puts: in one request the former would fail with the
    // latter.
    if (onlyFrees(change) !== this.#frees) return false;
    if (this.#bytes + bytes > BYTES_MAX) return false;
    // One for the candidate, one for `head`. etcd adds to these the largest of the nested transactions, not their sum.
    return this.#members + 2 + Math.max(this.#operations, operationsOf(change)) <= OPERATIONS_MAX;
  }

  take({ change, bytes }: Candidate): void {
    this.#members += 1;
    this.#bytes += bytes;
    this.#operations = Math.max(this.#operations, operationsOf(change));
    this.#frees = onlyFrees(change);
  }
}

function operationsOf({ expect, write }: Change): number {
  return Math.max(expect.length, write.length);
}

function onlyFrees({ write, quiet }: Change): boolean {
  return quiet === true && !write.some((one) => 'put' in one);
}
