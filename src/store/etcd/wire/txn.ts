import type { ICompare, IRequestOp, ITxnRequest, ITxnResponse } from 'etcd3';
import { HEAD_KEY, type Change, type CommitResult, type Write } from '../../port.ts';
import { revisionFrom, type KeySpace } from './key-space.ts';

/** The properties by which a key can be compared, and the field that carries the operand. */
const OPERANDS = { Create: 'create_revision', Mod: 'mod_revision', Version: 'version', Value: 'value' } as const;
export type Comparable = keyof typeof OPERANDS;

/**
 * "The key's ‹what› equals ‹operand›." npm etcd3 encodes an unknown enum string (`CREATE`) as the enum's zero, which
 * is `Version`: a fence then compares something else and fails open. So no string passes here that is not in the table.
 */
export function equals(key: Buffer, what: Comparable, operand: number | Buffer): ICompare {
  if (!Object.hasOwn(OPERANDS, what)) throw new RangeError(`etcd cannot compare a key by "${what}".`);
  return { key, result: 'Equal', target: what, [OPERANDS[what]]: operand };
}

/**
 * The changes as one request, in which each keeps a verdict of its own: one alone is a plain transaction, several are
 * nested in an outer one that always succeeds. `epochId` is what `head` gets, if any of them is not quiet. It is put in
 * the outer one, since etcd refuses a request in which two transactions put a key. So it moves even if all of them
 * conflict: that costs nothing but a revision, for etcd writes a transaction to its log before it compares.
 */
export function encodeGroup(keys: KeySpace, changes: readonly Change[], epochId: string): ITxnRequest {
  const [only, ...others] = changes.map((change) => encodeChange(keys, change));
  const head = changes.some(({ quiet }) => quiet !== true)
    ? [encodeWrite(keys, { put: HEAD_KEY, value: epochId })]
    : [];
  if (!only) throw new RangeError('There is no request without a change.');
  if (others.length === 0) return { compare: only.compare, success: [...only.success, ...head] };
  return { success: [...[only, ...others].map((member) => ({ request_txn: member })), ...head] };
}

/** The verdicts on the changes that were encoded. Every key that any of them wrote has the revision of the request. */
export function resultsOf({ succeeded, header, responses }: ITxnResponse, count: number): CommitResult[] {
  const verdicts =
    count === 1 ? [succeeded] : responses.slice(0, count).map(({ response_txn }) => response_txn.succeeded);
  const revision = revisionFrom(header.revision);
  return verdicts.map((holds) => (holds ? { outcome: 'committed', revision } : { outcome: 'conflict' }));
}

/** A key that is absent has modification revision 0, so both kinds of expectation are one comparison. */
function encodeChange(keys: KeySpace, change: Change): { compare: ICompare[]; success: IRequestOp[] } {
  return {
    compare: change.expect.map(({ key, revision }) => equals(keys.bytes(key), 'Mod', revision)),
    success: change.write.map((write) => encodeWrite(keys, write)),
  };
}

function encodeWrite(keys: KeySpace, write: Write): IRequestOp {
  if ('put' in write) return { request_put: { key: keys.bytes(write.put), value: Buffer.from(write.value) } };
  if ('remove' in write) return { request_delete_range: { key: keys.bytes(write.remove) } };
  return { request_delete_range: keys.range(write.removeAll) };
}
