import type { IRangeRequest } from 'etcd3';
import { StoreUnavailable, type Page, type PageRequest } from '../../port.ts';
import type { FoundRange } from './range-codec.ts';

/** The keys of one store in an etcd that others may use too: every key gets the prefix, results lose it. */
export class KeySpace {
  readonly #prefix: string;

  /** @throws RangeError on a prefix without the closing slash: `fleet` would reach into `fleet2/` */
  constructor(prefix: string) {
    if (!/^([\x20-\x7e]*\/)?$/.test(prefix)) {
      throw new RangeError('The key prefix must be printable ASCII and end with "/", or be empty.');
    }
    this.#prefix = prefix;
  }

  bytes(key: string): Buffer {
    return Buffer.from(this.full(key));
  }

  /** The key as etcd has it. */
  full(key: string): string {
    return this.#prefix + key;
  }

  key(bytes: Buffer): string {
    return bytes.toString('utf8', this.#prefix.length);
  }

  /** All keys that start with the prefix and come after `after`. */
  range(prefix: string, after = ''): { key: Buffer; range_end: Buffer } {
    const first = after < prefix ? prefix : `${after}\0`;
    const key = this.bytes(first);
    const end = this.bytes(prefix);
    // etcd's spelling of "every key there is"; an empty key is refused.
    if (end.length === 0) return { key: key.length === 0 ? Buffer.of(0) : key, range_end: Buffer.of(0) };
    // Keys are ASCII, so the last byte can always grow by one.
    end[end.length - 1] = (end.at(-1) ?? 0) + 1;
    return { key, range_end: end };
  }
}

/** The range request of etcd for a page. */
export function pageRange(keys: KeySpace, { prefix, after, limit, keysOnly }: PageRequest): IRangeRequest {
  return { ...keys.range(prefix, after), limit, keys_only: keysOnly === true };
}

/** The page of a range that was found at the revision. */
export function pageOf({ entries, more }: FoundRange, revision: number): Page {
  const last = entries.at(-1);
  return more && last ? { entries, revision, next: last.key } : { entries, revision };
}

/** Revisions are int64 on the wire and come as text; one that a number cannot hold would compare wrongly for ever. */
export function revisionFrom(wire: string): number {
  const revision = Number(wire);
  if (!Number.isSafeInteger(revision)) throw new StoreUnavailable('failed', `etcd's revision ${wire} is out of range.`);
  return revision;
}

/** @throws RangeError on revision 0 and less: to etcd 0 means "the newest", the opposite of what the caller means */
export function assertRevision(revision: number): void {
  if (!(Number.isSafeInteger(revision) && revision >= 1)) throw new RangeError('A revision is a positive integer.');
}
