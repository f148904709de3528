import { randomBytes } from 'node:crypto';
import { systemClock } from '../../../time/clock.ts';
import type { Deadline } from '../wire/deadline.ts';
import type { Endpoints } from '../wire/endpoints.ts';
import { isLeaseGone, isLeaseThere } from '../wire/errors.ts';

/**
 * The part of the granted time that a holder counts on. The rest is for clocks that run at different speeds, and for
 * the work that a holder still does before it learns that it lost the lease.
 */
const COUNTED = 0.9;

/** A lease in etcd, and the time for which it certainly exists, by the monotonic clock of this process. */
export class EtcdLease {
  /**
   * Generated here, so that the grant may be requested twice and revoked without its answer. 63 bits: etcd's ids are
   * signed, and 0 means no id.
   */
  readonly id = String((randomBytes(8).readBigUInt64BE() >> 1n) | 1n);
  readonly ttlMs: number;
  readonly #endpoints: Endpoints;
  /** The time counts from before a request is sent: etcd counts from when it handles the request, which is later. */
  #validUntil = Number.NEGATIVE_INFINITY;

  constructor(endpoints: Endpoints, ttlMs: number) {
    this.ttlMs = Math.max(1, Math.ceil(ttlMs / 1000)) * 1000;
    this.#endpoints = endpoints;
  }

  /** @throws StoreUnavailable; the lease may then exist all the same, and the caller revokes it */
  async grant(deadline: Deadline): Promise<void> {
    // etcd may grant more than was asked for, never less.
    this.#renewed(systemClock.monotonic());
    const request = { ID: this.id, TTL: this.ttlMs / 1000 };
    await this.#endpoints.repeatedly(
      'hold',
      async ({ lease }, options) =>
        lease.leaseGrant(request, options).catch((error: unknown) => {
          // The lease exists: an earlier request was carried out, and its answer was lost.
          if (!isLeaseThere(error)) throw error;
        }),
      deadline,
    );
  }

  /** The milliseconds for which the lease certainly exists; 0 or less when it may be gone. */
  get leftMs(): number {
    return this.#validUntil - systemClock.monotonic();
  }

  /** @throws StoreUnavailable when it is unknown whether the lease is renewed */
  async renew(): Promise<'renewed' | 'gone'> {
    const { sentAt, outcome } = await this.#endpoints.repeatedly(
      'renew',
      async (endpoint, { until }) => {
        const sentAt = systemClock.monotonic();
        return { sentAt, outcome: await endpoint.renewLease(this.id, until) };
      },
      this.#endpoints.deadline(this.leftMs),
    );
    if (outcome === 'renewed') this.#renewed(sentAt);
    return outcome;
  }

  /** Removes the lease and the keys under it, if that can be done before it expires. Never throws. */
  async revoke(): Promise<void> {
    if (this.leftMs <= 0) return;
    try {
      await this.#endpoints.repeatedly(
        'release',
        async ({ lease }, options) =>
          lease.leaseRevoke({ ID: this.id }, options).catch((error: unknown) => {
            if (!isLeaseGone(error)) throw error;
          }),
        this.#endpoints.deadline(this.leftMs),
      );
    } catch {
      // The lease expires by itself.
    }
  }

  #renewed(sentAt: number): void {
    this.#validUntil = Math.max(this.#validUntil, sentAt + this.ttlMs * COUNTED);
  }
}
