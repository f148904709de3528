import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { ICompare } from 'etcd3';
import { HEAD_KEY, type Change, type CommitResult, type Write } from '../../port.ts';
import type { KeySpace } from './key-space.ts';
import { broken, decode, headerRevision, rangeUpTo, type Wire } from './range-codec.ts';

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

// A tag is a field's number and the kind of its value: (number << 3) | kind (api/etcdserverpb/rpc.proto).
const VARINT = 0;
const BYTES = 2;
const KEY = (1 << 3) | BYTES;
const RANGE_END = (2 << 3) | BYTES;
const REQUEST_RANGE = (1 << 3) | BYTES;
const REQUEST_PUT = (2 << 3) | BYTES;
const REQUEST_DELETE_RANGE = (3 << 3) | BYTES;
const REQUEST_TXN = (4 << 3) | BYTES;
const PUT_VALUE = (2 << 3) | BYTES;
const PUT_LEASE = (3 << 3) | VARINT;
const COMPARE = (1 << 3) | BYTES;
const SUCCESS = (2 << 3) | BYTES;
const FAILURE = (3 << 3) | BYTES;
const COMPARE_TARGET = (2 << 3) | VARINT;
const COMPARE_KEY = (3 << 3) | BYTES;
const COMPARE_MOD_REVISION = (6 << 3) | VARINT;
const COMPARE_VALUE = (7 << 3) | BYTES;
/** Values of the enum `CompareTarget`. */
const MOD = 2;
const VALUE = 3;

const HEADER = (1 << 3) | BYTES;
const SUCCEEDED = (2 << 3) | VARINT;
const RESPONSES = (3 << 3) | BYTES;
const RESPONSE_RANGE = (1 << 3) | BYTES;
const RESPONSE_TXN = (4 << 3) | BYTES;

/**
 * The changes as one TxnRequest, in which each keeps a verdict of its own: one alone is a plain transaction, several
 * are nested in an outer one that always succeeds. `epochId` is what `head` gets, if any of them is not quiet. It is
 * put in the outer one, since etcd refuses a request in which two transactions put a key. So it moves even if all of
 * them conflict: that costs nothing but a revision, for etcd writes a transaction to its log before it compares.
 *
 * The bytes are written here, without the package's objects: it makes about ten of each expectation and write.
 */
export function encodeGroup(keys: KeySpace, changes: readonly Change[], epochId: string): Buffer {
  const [only, ...others] = changes;
  if (!only) throw new RangeError('There is no request without a change.');
  const wire = new BinaryWriter();
  if (others.length === 0) writeChange(wire, keys, only);
  else {
    for (const change of changes) {
      wire.uint32(SUCCESS).fork().uint32(REQUEST_TXN).fork();
      writeChange(wire, keys, change);
      wire.join().join();
    }
  }
  if (changes.some(({ quiet }) => quiet !== true)) writeOperation(wire, keys, { put: HEAD_KEY, value: epochId });
  return bytesOf(wire);
}

/** A TxnRequest that puts a key under a lease, whose id is an int64 in decimal, if the key is at the revision. */
export function encodeLeasedPut(key: Buffer, revision: number, value: string, leaseId: string): Buffer {
  const wire = new BinaryWriter();
  writeModRevision(wire, key.toString(), revision);
  wire.uint32(SUCCESS).fork().uint32(REQUEST_PUT).fork();
  wire.uint32(KEY).bytes(key).uint32(PUT_VALUE).string(value).uint32(PUT_LEASE).int64(leaseId);
  wire.join().join();
  return bytesOf(wire);
}

/**
 * The fields that make a TxnRequest depend on the value of a key, and read that key where the request fails. Protocol
 * Buffers take fields in any order, and lists in parts: it is appended to the bytes of the request.
 */
export function encodeCondition(key: string, value: string): Buffer {
  const wire = new BinaryWriter();
  wire.uint32(COMPARE).fork().uint32(COMPARE_TARGET).uint32(VALUE);
  wire.uint32(COMPARE_KEY).string(key).uint32(COMPARE_VALUE).string(value).join();
  wire.uint32(FAILURE).fork().uint32(REQUEST_RANGE).fork().uint32(KEY).string(key).join().join();
  return bytesOf(wire);
}

/** A TxnResponse, as far as our transactions need it. */
export interface TxnAnswer {
  readonly succeeded: boolean;
  /** Every key that the transaction wrote has this one. */
  readonly revision: number;
  /** Whether each of the nested transactions succeeded, in their order. */
  readonly nested: readonly boolean[];
  /** The value of the key that was read. */
  readonly found: string | undefined;
}

/** @throws StoreUnavailable `failed` where the bytes are no TxnResponse */
export const decodeTxn = (bytes: Buffer): TxnAnswer =>
  decode(bytes, (wire) => {
    const nested: boolean[] = [];
    let [succeeded, revision] = [false, 0];
    let found: string | undefined;
    wire.fields(bytes.length, (tag) => {
      if (tag === HEADER) revision = headerRevision(wire);
      else if (tag === SUCCEEDED) succeeded = wire.bool();
      else if (tag === RESPONSES) {
        wire.fields(wire.end(), (kind) => {
          if (kind === RESPONSE_TXN) nested.push(nestedVerdict(wire));
          else if (kind === RESPONSE_RANGE) found ??= rangeUpTo(wire, wire.end(), 0).entries[0]?.value;
        });
      }
    });
    // The revision of a store that answers is 1 at least.
    if (revision === 0) throw broken();
    return { succeeded, revision, nested, found };
  });

function nestedVerdict(wire: Wire): boolean {
  let succeeded = false;
  wire.fields(wire.end(), (tag) => {
    if (tag === SUCCEEDED) succeeded = wire.bool();
  });
  return succeeded;
}

/**
 * The verdicts on the changes that were encoded; none where the condition of a group did not hold.
 * @throws StoreUnavailable `failed` where the answer has another number of verdicts: whose they are is unknown
 */
export function resultsOf({ succeeded, revision, nested }: TxnAnswer, count: number): CommitResult[] {
  if (count > 1 && nested.length !== (succeeded ? count : 0)) throw broken();
  const verdicts = count === 1 ? [succeeded] : nested;
  return verdicts.map((holds) => (holds ? { outcome: 'committed', revision } : { outcome: 'conflict' }));
}

function writeChange(wire: BinaryWriter, keys: KeySpace, { expect, write }: Change): void {
  for (const { key, revision } of expect) writeModRevision(wire, keys.full(key), revision);
  for (const one of write) writeOperation(wire, keys, one);
}

/**
 * A key that is absent has modification revision 0, so both kinds of expectation are one comparison. The 0 is written
 * out: etcd takes a comparison without an operand for one that holds.
 * @throws RangeError for a revision that is no integer
 */
function writeModRevision(wire: BinaryWriter, key: string, revision: number): void {
  wire.uint32(COMPARE).fork().uint32(COMPARE_TARGET).uint32(MOD).uint32(COMPARE_KEY).string(key);
  wire.uint32(COMPARE_MOD_REVISION).int64(revision);
  wire.join();
}

function writeOperation(wire: BinaryWriter, keys: KeySpace, write: Write): void {
  wire.uint32(SUCCESS).fork();
  wire.uint32('put' in write ? REQUEST_PUT : REQUEST_DELETE_RANGE).fork();
  if ('put' in write) wire.uint32(KEY).string(keys.full(write.put)).uint32(PUT_VALUE).string(write.value);
  else if ('remove' in write) wire.uint32(KEY).string(keys.full(write.remove));
  else {
    const range = keys.range(write.removeAll);
    wire.uint32(KEY).bytes(range.key).uint32(RANGE_END).bytes(range.range_end);
  }
  wire.join().join();
}

/** The bytes that were written, which are not copied. */
function bytesOf(wire: BinaryWriter): Buffer {
  const { buffer, byteOffset, byteLength } = wire.finish();
  return Buffer.from(buffer, byteOffset, byteLength);
}
