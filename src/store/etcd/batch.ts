import type { Change } from '../port.ts';
import { Claims } from './conflicts.ts';

/** What etcd allows without being told otherwise (`--max-txn-ops`), for the outer transaction and its largest member. */
const OPERATIONS_MAX = 128;
const MEMBERS_MAX = 40;
/** etcd takes 1.5 MiB (`--max-request-bytes`); one change may be larger than this and goes alone. */
const BYTES_MAX = 1024 * 1024;
/** What the wire adds to the keys and values of an operation, and then some. */
const BYTES_PER_OPERATION = 32;
/** So many of those that wait are looked at; if most of them want one key, looking at all would be quadratic. */
const LOOKED_AT_MAX = 400;

/** A change, and what it takes of a request. */
export interface Candidate {
  readonly change: Change;
  readonly bytes: number;
}

/** Keys are ASCII: their length is their bytes. */
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
 * Chooses who rides in the next request, and who waits for a later one, both in order of arrival. The first always
 * rides, so nobody waits for ever; nobody overtakes one who waits for a key that both want.
 */
export function divide<T extends Candidate>(waiting: readonly T[]): { readonly group: T[]; readonly rest: T[] } {
  const group: T[] = [];
  const rest: T[] = [];
  const claims = new Claims();
  const room = new Room();
  for (const [index, candidate] of waiting.entries()) {
    if (group.length === MEMBERS_MAX || index === LOOKED_AT_MAX) {
      rest.push(...waiting.slice(index));
      break;
    }
    const rides = room.isFor(candidate) && !claims.clashWith(candidate.change);
    if (rides) room.take(candidate);
    (rides ? group : rest).push(candidate);
    claims.add(candidate.change);
  }
  return { group, rest };
}

/** What is left in a request. */
class Room {
  private members = 0;
  private bytes = 0;
  private operations = 0;
  private frees = false;

  isFor({ change, bytes }: Candidate): boolean {
    // Whatever the size of the first, etcd is the one to judge it.
    if (this.members === 0) return true;
    // A full etcd takes what only removes, and nothing that puts: they would fail with their neighbours.
    if (onlyFrees(change) !== this.frees) return false;
    if (this.bytes + bytes > BYTES_MAX) return false;
    // One for the candidate, one for `head`. etcd adds to these the largest of the nested transactions, not their sum.
    return this.members + 2 + Math.max(this.operations, operationsOf(change)) <= OPERATIONS_MAX;
  }

  take({ change, bytes }: Candidate): void {
    this.members += 1;
    this.bytes += bytes;
    this.operations = Math.max(this.operations, operationsOf(change));
    this.frees = onlyFrees(change);
  }
}

function operationsOf({ expect, write }: Change): number {
  return Math.max(expect.length, write.length);
}

function onlyFrees({ write, quiet }: Change): boolean {
  return quiet === true && !write.some((one) => 'put' in one);
}
