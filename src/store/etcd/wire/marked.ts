import type { ICompare, IRangeRequest, IRequestOp } from 'etcd3';
import type { StoreMark } from '../../mark.ts';
import { StoreUnavailable } from '../../port.ts';
import type { TimedOptions } from './deadline.ts';
import type { Endpoint } from './endpoints.ts';
import type { KeySpace } from './key-space.ts';
import { decodeEither, decodeRange, type FoundRange } from './range-codec.ts';
import { encodeCondition, equals, type TxnAnswer } from './txn.ts';

/** A mark that was written anew is met once by each call; one that changes again and again is no record of ours. */
const ATTEMPTS_MAX = 3;

/**
 * Makes calls of etcd depend on the mark of the store (A14). The comparison travels in the call itself: there is no
 * moment between a check and what it was for.
 */
export class Marked {
  readonly #keys: KeySpace;
  readonly #mark: StoreMark | undefined;
  readonly #prefixBytes: number;

  constructor(keys: KeySpace, mark: StoreMark | undefined) {
    this.#keys = keys;
    this.#mark = mark;
    this.#prefixBytes = keys.bytes('').length;
  }

  /**
   * Reads a range, linearizable where the request does not say otherwise, of the store with the mark.
   * @throws StoreUnavailable `replaced`; the error of gRPC
   */
  async range(endpoint: Endpoint, request: IRangeRequest, options: TimedOptions): Promise<FoundRange> {
    for (let attempt = 1; ; attempt += 1) {
      const { condition, otherwise } = this.#now();
      if (!condition) return endpoint.range(request, options, (bytes) => decodeRange(bytes, this.#prefixBytes));
      const txn = { compare: [condition], success: [{ request_range: request }], failure: otherwise };
      const { succeeded, found } = await endpoint.txn(txn, options, (bytes) => decodeEither(bytes, this.#prefixBytes));
      if (succeeded) return found;
      this.#refuse(found.entries[0]?.value, attempt);
    }
  }

  /**
   * Sends a transaction, the bytes of a TxnRequest, that has no effect on a store without the mark.
   * @returns the answer; where a comparison of its own did not hold, `succeeded` is false
   * @throws StoreUnavailable `replaced`; the error of `send`
   */
  async txn(request: Buffer, send: (request: Buffer) => Promise<TxnAnswer>): Promise<TxnAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      const text = this.#mark?.text;
      if (this.#mark === undefined || text === undefined) return send(request);
      const condition = encodeCondition(this.#keys.full(this.#mark.key), text);
      const answer = await send(Buffer.concat([request, condition]));
      if (answer.succeeded) return answer;
      // The mark is right: a comparison of the request's own did not hold.
      if (answer.found === text) return answer;
      this.#refuse(answer.found, attempt);
    }
  }

  #now(): { readonly condition?: ICompare; readonly otherwise: IRequestOp[] } {
    const text = this.#mark?.text;
    if (this.#mark === undefined || text === undefined) return { otherwise: [] };
    const key = this.#keys.bytes(this.#mark.key);
    return { condition: equals(key, 'Value', Buffer.from(text)), otherwise: [{ request_range: { key } }] };
  }

  #refuse(found: string | undefined, attempt: number): void {
    if (attempt < ATTEMPTS_MAX && this.#mark?.accepts(found) === true) return;
    throw new StoreUnavailable(
      'replaced',
      found === undefined
        ? 'etcd is empty, or has lost the record of its format.'
        : 'etcd holds another store than before.',
    );
  }
}
