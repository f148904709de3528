import { BinaryReader } from '@bufbuild/protobuf/wire';
import { StoreUnavailable, type Entry, type Key } from '../../port.ts';

/** The fields of etcd's RangeResponse that a listing needs. */
export interface FoundRange {
  readonly entries: readonly Entry[];
  readonly more: boolean;
  /** The newest revision of the store. */
  readonly revision: number;
}

/**
 * Reads a RangeResponse of etcd (api/etcdserverpb/rpc.proto and api/mvccpb/kv.proto) into entries, without the prefix
 * that all keys have. The decoding of the package `etcd3` makes an object, two buffers and four texts of each key, and
 * costs half of the processor time of a start.
 * @throws StoreUnavailable `failed` where the bytes are no RangeResponse
 */
export const decodeRange = (bytes: Buffer, prefixBytes: number): FoundRange =>
  decode(bytes, (wire) => rangeUpTo(wire, bytes.length, prefixBytes));

/** Reads a RangeResponse that ends at the position. */
export function rangeUpTo(wire: Wire, end: number, prefixBytes: number): FoundRange {
  const entries: Entry[] = [];
  let [more, revision] = [false, 0];
  wire.fields(end, (tag) => {
    if (tag === HEADER) revision = headerRevision(wire);
    else if (tag === KVS) entries.push(entry(wire, prefixBytes));
    else if (tag === MORE) more = wire.bool();
  });
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
export const decodeEither = (bytes: Buffer, prefixBytes: number): FoundEither =>
  decode(bytes, (wire) => {
    let [succeeded, revision] = [false, 0];
    let range: FoundRange = { entries: [], more: false, revision: 0 };
    wire.fields(bytes.length, (tag) => {
      if (tag === HEADER) revision = headerRevision(wire);
      else if (tag === SUCCEEDED) succeeded = wire.bool();
      else if (tag === RESPONSES) {
        wire.fields(wire.end(), (kind) => {
          if (kind === RESPONSE_RANGE) range = rangeUpTo(wire, wire.end(), prefixBytes);
        });
      }
    });
    return { succeeded, found: { ...range, revision } };
  });

// A tag is a field's number and the kind of its value: (number << 3) | kind.
const VARINT = 0;
const BYTES = 2;
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

/** Reads the revision of a ResponseHeader. */
export function headerRevision(wire: Wire): number {
  let revision = 0;
  wire.fields(wire.end(), (tag) => {
    if (tag === HEADER_REVISION) revision = wire.integer();
  });
  return revision;
}

function entry(wire: Wire, prefixBytes: number): Entry {
  let [key, value, revision] = ['', '', 0];
  wire.fields(wire.end(), (tag) => {
    if (tag === KEY) key = wire.text(prefixBytes);
    else if (tag === VALUE) value = wire.text(0);
    else if (tag === MOD_REVISION) revision = wire.integer();
  });
  return { key: key as Key, value, revision };
}

/** Reads Protocol Buffers (https://protobuf.dev/programming-guides/encoding/) into what the store has. */
class Wire extends BinaryReader {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    super(bytes);
    this.#bytes = bytes;
  }

  /** Reads a length, and returns the position at which the part that follows ends. */
  end(): number {
    return this.uint32() + this.pos;
  }

  /**
   * Reads the fields of a message that ends at the position. A field that `take` does not read is skipped: a listing
   * does not need it, or only a newer etcd has it.
   */
  fields(end: number, take: (tag: number) => void): void {
    while (this.pos < end) {
      const [field, kind] = this.tag();
      const start = this.pos;
      take((field << 3) | kind);
      if (this.pos === start) this.skip(kind, field);
    }
    // A field reached out of its part, or the bytes break off.
    if (this.pos !== end) throw broken();
  }

  /** An integer that a number cannot hold exactly is an error: as a revision it would compare wrongly for ever. */
  integer(): number {
    const value = Number(this.int64());
    if (value < 0 || !Number.isSafeInteger(value)) throw broken();
    return value;
  }

  /** Reads a size; 0 where it is negative, as for a bound that is off. */
  size(): number {
    return Math.max(0, Number(this.int64()));
  }

  /** Reads a text, without its first bytes. */
  text(without: number): string {
    const end = this.end();
    const start = Math.min(this.pos + without, end);
    this.pos = end;
    return this.#bytes.toString('utf8', start, end);
  }
}

export type { Wire };

/**
 * @throws StoreUnavailable `failed` for bytes that cannot be read, for which the library has errors of several kinds
 */
export function decode<T>(bytes: Buffer, read: (wire: Wire) => T): T {
  try {
    return read(new Wire(bytes));
  } catch {
    throw broken();
  }
}

export const broken = (): StoreUnavailable =>
  new StoreUnavailable('failed', 'etcd sent an answer that cannot be read.');
