import type { ICompare } from 'etcd3';
import { HEAD_KEY, type Change, type CommitResult, type Write } from '../../port.ts';
import type { KeySpace } from './key-space.ts';
import { broken, decodeRange, headerRevision, Wire } from './range-codec.ts';

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
  const wire = new BackwardWire();
  if (changes.some(({ quiet }) => quiet !== true)) writeOperation(wire, keys, { put: HEAD_KEY, value: epochId });
  if (others.length === 0) writeChange(wire, keys, only);
  else for (const change of changes.toReversed()) writeNested(wire, keys, change);
  return wire.bytes();
}

/** A TxnRequest that puts a key under a lease, whose id is an int64 in decimal, if the key is at the revision. */
export function encodeLeasedPut(key: Buffer, revision: number, value: string, leaseId: string): Buffer {
  const wire = new BackwardWire();
  const end = wire.at;
  wire.integer(PUT_LEASE, BigInt(leaseId));
  wire.text(PUT_VALUE, value);
  wire.raw(KEY, key);
  wire.close(REQUEST_PUT, end);
  wire.close(SUCCESS, end);
  writeModRevision(wire, key.toString(), revision);
  return wire.bytes();
}

/**
 * What makes a TxnRequest depend on the value of a key, and read that key where the request fails. Protocol Buffers
 * take fields in any order, and lists in parts: it is appended to the bytes of the request.
 */
export function encodeCondition(key: string, value: string): Buffer {
  const wire = new BackwardWire();
  const end = wire.at;
  wire.text(KEY, key);
  wire.close(REQUEST_RANGE, end);
  wire.close(FAILURE, end);
  const compareEnd = wire.at;
  wire.text(COMPARE_VALUE, value);
  wire.text(COMPARE_KEY, key);
  wire.integer(COMPARE_TARGET, VALUE);
  wire.close(COMPARE, compareEnd);
  return wire.bytes();
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
export function decodeTxn(bytes: Buffer): TxnAnswer {
  const wire = new Wire(bytes);
  const nested: boolean[] = [];
  let [succeeded, revision] = [false, 0];
  let found: string | undefined;
  while (wire.at < bytes.length) {
    const tag = wire.varint();
    if (tag === HEADER) revision = headerRevision(wire);
    else if (tag === SUCCEEDED) succeeded = wire.varint() !== 0;
    else if (tag === RESPONSES) {
      const end = wire.end();
      while (wire.at < end) {
        const kind = wire.varint();
        if (kind === RESPONSE_TXN) nested.push(nestedVerdict(wire));
        else if (kind === RESPONSE_RANGE) found ??= decodeRange(wire.part(), 0).entries[0]?.value;
        else wire.skip(kind);
      }
      wire.mustBeAt(end);
    } else wire.skip(tag);
  }
  wire.mustBeAt(bytes.length);
  // The revision of a store that answers is 1 at least.
  if (revision === 0) throw broken();
  return { succeeded, revision, nested, found };
}

function nestedVerdict(wire: Wire): boolean {
  const end = wire.end();
  let succeeded = false;
  while (wire.at < end) {
    const tag = wire.varint();
    if (tag === SUCCEEDED) succeeded = wire.varint() !== 0;
    else wire.skip(tag);
  }
  wire.mustBeAt(end);
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

function writeNested(wire: BackwardWire, keys: KeySpace, change: Change): void {
  const end = wire.at;
  writeChange(wire, keys, change);
  wire.close(REQUEST_TXN, end);
  wire.close(SUCCESS, end);
}

function writeChange(wire: BackwardWire, keys: KeySpace, { expect, write }: Change): void {
  for (const one of write.toReversed()) writeOperation(wire, keys, one);
  for (const { key, revision } of expect.toReversed()) writeModRevision(wire, keys.full(key), revision);
}

/**
 * A key that is absent has modification revision 0, so both kinds of expectation are one comparison. The 0 is written
 * out: etcd takes a comparison without an operand for one that holds.
 */
function writeModRevision(wire: BackwardWire, key: string, revision: number): void {
  const end = wire.at;
  wire.integer(COMPARE_MOD_REVISION, revision);
  wire.text(COMPARE_KEY, key);
  wire.integer(COMPARE_TARGET, MOD);
  wire.close(COMPARE, end);
}

function writeOperation(wire: BackwardWire, keys: KeySpace, write: Write): void {
  const end = wire.at;
  if ('put' in write) {
    wire.text(PUT_VALUE, write.value);
    wire.text(KEY, keys.full(write.put));
  } else if ('remove' in write) wire.text(KEY, keys.full(write.remove));
  else {
    const range = keys.range(write.removeAll);
    wire.raw(RANGE_END, range.range_end);
    wire.raw(KEY, range.key);
  }
  wire.close('put' in write ? REQUEST_PUT : REQUEST_DELETE_RANGE, end);
  wire.close(SUCCESS, end);
}

const FIRST_BYTES = 16 * 1024;

/**
 * Writes Protocol Buffers from the end to the beginning: what a part is preceded by, its length, is known when it is
 * written, at any depth.
 */
class BackwardWire {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #free = FIRST_BYTES;

  /** The number of bytes that were written. */
  get at(): number {
    return this.#buffer.length - this.#free;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(this.#free);
  }

  /** Makes one part of all that was written since `at` was `end`. */
  close(tag: number, end: number): void {
    this.#varint(this.at - end);
    this.#varint(tag);
  }

  text(tag: number, text: string): void {
    const length = Buffer.byteLength(text);
    this.#reserve(length);
    this.#free -= length;
    this.#buffer.write(text, this.#free, length, 'utf8');
    this.#varint(length);
    this.#varint(tag);
  }

  raw(tag: number, bytes: Buffer): void {
    this.#reserve(bytes.length);
    this.#free -= bytes.length;
    bytes.copy(this.#buffer, this.#free);
    this.#varint(bytes.length);
    this.#varint(tag);
  }

  /** @throws RangeError for a number that is no integer */
  integer(tag: number, value: number | bigint): void {
    if (typeof value === 'number' && value >= 0 && Number.isSafeInteger(value)) this.#varint(value);
    else this.#int64(BigInt.asUintN(64, BigInt(value)));
    this.#varint(tag);
  }

  /** @param value 0 to 2^53 - 1 */
  #varint(value: number): void {
    let length = 1;
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) length += 1;
    this.#reserve(length);
    this.#free -= length;
    let [at, rest] = [this.#free, value];
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#buffer[at++] = (rest % 128) | 128;
    this.#buffer[at] = rest;
  }

  #int64(value: bigint): void {
    const bytes: number[] = [];
    let rest = value;
    for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    bytes.push(Number(rest));
    this.#reserve(bytes.length);
    this.#free -= bytes.length;
    this.#buffer.set(bytes, this.#free);
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#free) return;
    const written = this.bytes();
    const larger = Buffer.allocUnsafe(2 * this.#buffer.length + bytes);
    this.#free = larger.length - written.length;
    written.copy(larger, this.#free);
    this.#buffer = larger;
  }
}
