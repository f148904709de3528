import { ABSENT, StoreUnavailable, type Held } from '../../port.ts';
import type { Deadline } from '../wire/deadline.ts';
import type { Endpoints } from '../wire/endpoints.ts';
import type { KeySpace } from '../wire/key-space.ts';
import type { Marked } from '../wire/marked.ts';
import { EtcdHeld } from './hold.ts';
import { EtcdLease } from './lease.ts';
import { LeasedKey } from './leased-key.ts';

/** The keys that one store holds, each under a lease of its own. */
export class EtcdHolds {
  readonly #keys: KeySpace;
  readonly #endpoints: Endpoints;
  readonly #marked: Marked;
  readonly #live = new Set<EtcdHeld>();
  readonly #revocations = new Set<Promise<void>>();

  constructor(keys: KeySpace, endpoints: Endpoints, marked: Marked) {
    this.#keys = keys;
    this.#endpoints = endpoints;
    this.#marked = marked;
  }

  /** @throws StoreUnavailable as `Store.hold` */
  async hold(key: string, value: string, ttlMs: number): Promise<Held | 'taken'> {
    const deadline = this.#endpoints.deadline();
    const bytes = this.#keys.bytes(key);
    // Replicas that wait for a key ask again and again: granting and revoking a lease each time would be two writes.
    if (await this.#exists(bytes, deadline)) return 'taken';
    const lease = new EtcdLease(this.#endpoints, ttlMs);
    let held: EtcdHeld | undefined;
    try {
      await lease.grant(deadline);
      const leased = new LeasedKey(this.#endpoints, this.#marked, { name: key, key: bytes, leaseId: lease.id });
      const put = await leased.put(value, ABSENT, deadline);
      if (put === 'conflict') return 'taken';
      if (put === 'expired' || lease.leftMs <= 0)
        throw new StoreUnavailable('timeout', 'hold: the time to live is over');
      held = new EtcdHeld(this.#endpoints, leased, lease, put, () => held && this.#live.delete(held));
      this.#live.add(held);
      return held;
    } finally {
      // The put may still arrive: without its lease it is refused.
      if (!held) this.#discard(lease);
    }
  }

  /** Ends all holds. Never throws. */
  async close(): Promise<void> {
    await Promise.all([...this.#live].map(async (held) => held.end()));
    await Promise.all(this.#revocations);
  }

  async #exists(key: Buffer, deadline: Deadline): Promise<boolean> {
    const request = { key, keys_only: true };
    const { entries } = await this.#endpoints.repeatedly(
      'hold',
      async (endpoint, options) => this.#marked.range(endpoint, request, options),
      deadline,
    );
    return entries.length > 0;
  }

  #discard(lease: EtcdLease): void {
    const revocation = lease.revoke().finally(() => this.#revocations.delete(revocation));
    this.#revocations.add(revocation);
  }
}
