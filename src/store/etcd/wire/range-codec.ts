import { type Entry, type Key, StoreUnavailable } from '../../port.ts';

/** The fields of etcd's RangeResponse that a listing needs. */
export interface FoundRange {
  readonly entries: readonly Entry[];
  readonly more: boolean;
  /** The newest revision of the store. */
  readonly revision: number;
}

/**
 * Reads a RangeResponse of etcd (api/etcdserverpb/rpc.proto and api/mvccpb/kv.proto) into entries, without the prefix
 * that all keys have. The package's own decoding makes an object, two buffers and four texts of each key, and costs
 * half of the processor time of a start.
 * @throws StoreUnavailable `failed` where the bytes are no RangeResponse
 */
export function decodeRange(bytes: Buffer, prefixBytes: number): FoundRange {
  const wire = new Wire(bytes);
  const entries: Entry[] = [];
  let [more, revision] = [false, 0];
  while (wire.at < bytes.length) {
    const tag = wire.varint();
    if (tag === HEADER) revision = headerRevision(wire);
    else if (tag === KVS) entries.push(entry(wire, prefixBytes));
    else if (tag === MORE) more = wire.varint() !== 0;
    else wire.skip(tag);
  }
  wire.mustBeAt(bytes.length);
  return { entries, more, revision };
}

/** The answer of a transaction whose both branches are one range: which branch it was, and its range. */
interface FoundEither {
  readonly succeeded: boolean;
  readonly found: FoundRange;
}

/**
 * As `decodeRange`, of a TxnResponse with one range. The revision is that of the whole answer.
 * @throws StoreUnavailable `failed` where the bytes are no such answer
 */
export function decodeEither(bytes: Buffer, prefixBytes: number): FoundEither {
  const wire = new Wire(bytes);
  let [succeeded, revision] = [false, 0];
  let range = NOTHING;
  while (wire.at < bytes.length) {
    const tag = wire.varint();
    if (tag === HEADER) revision = headerRevision(wire);
    else if (tag === SUCCEEDED) succeeded = wire.varint() !== 0;
    else if (tag === RESPONSES) range = rangeOf(wire);
    else wire.skip(tag);
  }
  wire.mustBeAt(bytes.length);
  return { succeeded, found: { ...decodeRange(range, prefixBytes), revision } };
}

/** Reads the bytes of the range in a ResponseOp. */
function rangeOf(wire: Wire): Buffer {
  const end = wire.end();
  let range = NOTHING;
  while (wire.at < end) {
    const tag = wire.varint();
    if (tag === RESPONSE_RANGE) range = wire.part();
    else wire.skip(tag);
  }
  wire.mustBeAt(end);
  return range;
}

const NOTHING: Buffer = Buffer.alloc(0);

// A tag is a field's number and the kind of its value: (number << 3) | kind.
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
const HEADER = (1 << 3) | BYTES;
const KVS = (2 << 3) | BYTES;
const MORE = (3 << 3) | VARINT;
const HEADER_REVISION = (3 << 3) | VARINT;
const KEY = (1 << 3) | BYTES;
const MOD_REVISION = (3 << 3) | VARINT;
const VALUE = (5 << 3) | BYTES;
const SUCCEEDED = (2 << 3) | VARINT;
const RESPONSES = (3 << 3) | BYTES;
const RESPONSE_RANGE = (1 << 3) | BYTES;

/** Seven bits each: 49 bits are exact. */
const SAFE_VARINT_BYTES = 7;

/** Reads the revision of a ResponseHeader. */
export function headerRevision(wire: Wire): number {
  const end = wire.end();
  let revision = 0;
  while (wire.at < end) {
    const tag = wire.varint();
    if (tag === HEADER_REVISION) revision = wire.varint();
    else wire.skip(tag);
  }
  wire.mustBeAt(end);
  return revision;
}

function entry(wire: Wire, prefixBytes: number): Entry {
  const end = wire.end();
  let [key, value, revision] = ['', '', 0];
  while (wire.at < end) {
    const tag = wire.varint();
    if (tag === KEY) key = wire.text(prefixBytes);
    else if (tag === VALUE) value = wire.text(0);
    else if (tag === MOD_REVISION) revision = wire.varint();
    else wire.skip(tag);
  }
  wire.mustBeAt(end);
  return { key: key as Key, value, revision };
}

/** Protocol Buffers on the wire (https://protobuf.dev/programming-guides/encoding/). */
export class Wire {
  at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** An integer that a number cannot hold exactly is an error: as a revision it would compare wrongly for ever. */
  varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes[this.at];
      if (byte === undefined) throw broken();
      this.at += 1;
      value += (byte & 127) * factor;
      if (!Number.isSafeInteger(value)) throw broken();
      if (byte < 128) return value;
    }
  }

  /** Reads a size; 0 where it is negative, as for a bound that is off. */
  size(): number {
    const start = this.at;
    this.skipVarint();
    if (this.at - start > SAFE_VARINT_BYTES) return 0;
    this.at = start;
    return this.varint();
  }

  /** Reads a length, and returns the position at which the part that follows ends. */
  end(): number {
    const length = this.varint();
    if (this.at + length > this.#bytes.length) throw broken();
    return this.at + length;
  }

  /** @throws StoreUnavailable where what was read reached out of its part, or the bytes break off */
  mustBeAt(end: number): void {
    if (this.at !== end) throw broken();
  }

  /** Reads the bytes of a part, which are not copied. */
  part(): Buffer {
    const end = this.end();
    const part = this.#bytes.subarray(this.at, end);
    this.at = end;
    return part;
  }

  /** Reads a text, without its first bytes. */
  text(without: number): string {
    const end = this.end();
    const start = Math.min(this.at + without, end);
    this.at = end;
    return this.#bytes.toString('utf8', start, end);
  }

  /** Skips a field that a listing does not need, or that only a newer etcd has. */
  skip(tag: number): void {
    const kind = tag & 7;
    if (kind === BYTES) this.at = this.end();
    else if (kind === FIXED64) this.at += 8;
    else if (kind === FIXED32) this.at += 4;
    else if (kind === VARINT) this.skipVarint();
    else throw broken();
  }

  /** Skips an integer, which may be larger than `varint` takes: a lease's id fills all 64 bits. */
  skipVarint(): void {
    while ((this.#bytes[this.at] ?? 0) >= 128) this.at += 1;
    this.at += 1;
  }
}

export const broken = (): StoreUnavailable =>
  new StoreUnavailable('failed', 'etcd sent an answer that cannot be read.');
