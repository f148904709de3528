import type { IKeyValue } from 'etcd3';
import { StoreUnavailable } from '../../port.ts';
import { deadlineIn, leftMs, type Deadline } from '../wire/deadline.ts';
import type { Endpoints } from '../wire/endpoints.ts';
import { isLeaseGone } from '../wire/errors.ts';
import { revisionFrom } from '../wire/key-space.ts';
import type { Marked } from '../wire/marked.ts';
import { decodeTxn, encodeLeasedPut } from '../wire/txn.ts';

/** A key of etcd, as far as it lies under one lease. */
export class LeasedKey {
  readonly name: string;
  readonly #endpoints: Endpoints;
  readonly #marked: Marked;
  readonly #key: Buffer;
  readonly #leaseId: string;

  constructor(
    endpoints: Endpoints,
    marked: Marked,
    { name, key, leaseId }: { readonly name: string; readonly key: Buffer; readonly leaseId: string },
  ) {
    this.name = name;
    this.#endpoints = endpoints;
    this.#marked = marked;
    this.#key = key;
    this.#leaseId = leaseId;
  }

  /**
   * Reads the key.
   * @returns undefined unless the key lies under this lease; a write by another client takes it off the lease
   * @throws StoreUnavailable
   */
  async find(deadline?: Deadline): Promise<IKeyValue | undefined> {
    const request = { key: this.#key };
    const { kvs } = await this.#endpoints.repeatedly(
      'hold',
      async ({ kv }, options) => kv.range(request, options),
      deadline,
    );
    return kvs.find(({ lease }) => lease === this.#leaseId);
  }

  /**
   * Puts the key under the lease if it is at the revision. Where the answer is lost, the key is read to find out.
   * @returns the new revision
   * @throws StoreUnavailable when it is unknown whether the put happened
   */
  async put(value: string, revision: number, deadline: Deadline): Promise<number | 'conflict' | 'expired'> {
    const request = encodeLeasedPut(this.#key, revision, value, this.#leaseId);
    try {
      // The other half of the time is for reading whether the put happened.
      const until = deadlineIn(leftMs(deadline) / 2);
      const answer = await this.#marked.txn(request, async (marked) =>
        this.#endpoints.once('hold', async (etcd, options) => etcd.txn(marked, options, decodeTxn), until),
      );
      return answer.succeeded ? answer.revision : 'conflict';
    } catch (error) {
      if (error instanceof StoreUnavailable && isLeaseGone(error.cause)) return 'expired';
      const found = await this.find(deadline).catch(() => undefined);
      const foundRevision = found ? revisionFrom(found.mod_revision) : 0;
      if (foundRevision > revision && found?.value.toString() === value) return foundRevision;
      throw error;
    }
  }
}
