import type { ICompare, IRequestOp, ITxnRequest } from 'etcd3';
import type { KeySpace } from './etcd-keys.ts';
import { type Change, HEAD_KEY, type Write } from './port.ts';

/** What a key can be compared by, and the field that carries the operand. */
const OPERANDS = { Create: 'create_revision', Mod: 'mod_revision', Version: 'version' } as const;
export type Comparable = keyof typeof OPERANDS;

/**
 * "The key's ‹what› equals ‹operand›." npm etcd3 encodes an unknown enum string (`CREATE`) as the enum's zero, which
 * is `Version`: a fence then compares something else and fails open. So no string passes here that is not in the table.
 */
export function equals(key: Buffer, what: Comparable, operand: number): ICompare {
  if (!Object.hasOwn(OPERANDS, what)) throw new RangeError(`etcd cannot compare a key by "${what}".`);
  return { key, result: 'Equal', target: what, [OPERANDS[what]]: operand };
}

/**
 * One change without its `head`: pure, so that several can ride in one request as nested transactions under one outer
 * put of `head`. A key that is absent has modification revision 0, so both kinds of expectation are one comparison.
 */
export function encodeChange(keys: KeySpace, change: Change): { compare: ICompare[]; success: IRequestOp[] } {
  return {
    compare: change.expect.map(({ key, revision }) => equals(keys.bytes(key), 'Mod', revision)),
    success: change.write.map((write) => encodeWrite(keys, write)),
  };
}

/** The change as one request; `mark` is what `head` gets, and is left out for a quiet one. */
export function encodeCommit(keys: KeySpace, change: Change, mark: string | undefined): ITxnRequest {
  const { compare, success } = encodeChange(keys, change);
  if (mark !== undefined) success.push(encodeWrite(keys, { put: HEAD_KEY, value: mark }));
  return { compare, success };
}

function encodeWrite(keys: KeySpace, write: Write): IRequestOp {
  if ('put' in write) return { request_put: { key: keys.bytes(write.put), value: Buffer.from(write.value) } };
  if ('remove' in write) return { request_delete_range: { key: keys.bytes(write.remove) } };
  return { request_delete_range: keys.range(write.removeAll) };
}
