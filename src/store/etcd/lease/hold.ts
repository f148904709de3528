import { setTimeout as sleep } from 'node:timers/promises';
import { serialExecutor } from '../../../concurrency/serial.ts';
import type { Held } from '../../port.ts';
import { checkValue } from '../../validate.ts';
import type { Deadline } from '../wire/deadline.ts';
import type { Endpoints } from '../wire/endpoints.ts';
import { revisionFrom } from '../wire/key-space.ts';
import type { EtcdLease } from './lease.ts';
import type { LeasedKey } from './leased-key.ts';

/** The lease is renewed three times in its time to live; a renewal that failed is repeated sooner. */
const RENEWALS_PER_TTL = 3;
const RETRIES_PER_TTL = 30;

/** A key under a lease that is renewed until it is released or lost. */
export class EtcdHeld implements Held {
  readonly #endpoints: Endpoints;
  readonly #key: LeasedKey;
  readonly #lease: EtcdLease;
  readonly #ended: () => void;
  readonly #losing = new AbortController();
  readonly #over = new AbortController();
  readonly #serially = serialExecutor();
  #current: number;
  #expiry: NodeJS.Timeout | undefined;
  #ending: Promise<void> | undefined;

  constructor(endpoints: Endpoints, key: LeasedKey, lease: EtcdLease, revision: number, ended: () => void) {
    this.#endpoints = endpoints;
    this.#key = key;
    this.#lease = lease;
    this.#current = revision;
    this.#ended = ended;
    this.#watchExpiry();
    void this.#keep();
  }

  get revision(): number {
    return this.#current;
  }

  get lost(): AbortSignal {
    // After a pause of the process, this may be called before the timer has run.
    if (this.#lease.leftMs <= 0) this.#lose();
    return this.#losing.signal;
  }

  async rewrite(value: string): Promise<'written' | 'lost'> {
    checkValue(this.#key.name, value);
    return this.#serially(async () => this.#write(value));
  }

  async release(): Promise<void> {
    this.#stop();
    return this.#ending;
  }

  /** Ends the hold although the holder did not release it; `lost` tells the holder. */
  async end(): Promise<void> {
    this.#lose();
    await Promise.all([this.release(), this.#serially(async () => undefined)]);
  }

  #lose(): void {
    if (this.#over.signal.aborted) return;
    this.#stop();
    this.#losing.abort();
  }

  #stop(): void {
    clearTimeout(this.#expiry);
    this.#over.abort();
    this.#ending ??= this.#lease.revoke().then(this.#ended);
  }

  async #write(value: string): Promise<'written' | 'lost'> {
    const deadline = this.#endpoints.deadline();
    while (!this.lost.aborted && !this.#over.signal.aborted) {
      const put = await this.#key.put(value, this.#current, deadline);
      if (typeof put === 'number') {
        this.#adopt(put);
        return 'written';
      }
      // Only a rewrite whose answer was lost can have moved the key and left it under the lease.
      if (put === 'expired' || !(await this.#isStillOurs(deadline))) this.#lose();
    }
    return 'lost';
  }

  async #isStillOurs(deadline?: Deadline): Promise<boolean> {
    const found = await this.#key.find(deadline);
    if (found) this.#adopt(revisionFrom(found.mod_revision));
    return found !== undefined;
  }

  /** A read may return an older revision than a write that was answered before it. */
  #adopt(revision: number): void {
    this.#current = Math.max(this.#current, revision);
  }

  async #keep(): Promise<void> {
    let perTtl = RENEWALS_PER_TTL;
    while (await this.#pause(this.#lease.ttlMs / perTtl)) {
      perTtl = (await this.#renew()) ? RENEWALS_PER_TTL : RETRIES_PER_TTL;
    }
  }

  /** @returns false when it is unknown whether the lease is renewed; its expiry then decides */
  async #renew(): Promise<boolean> {
    try {
      const outcome = await this.#lease.renew();
      this.#watchExpiry();
      if (outcome === 'gone' || !(await this.#isStillOurs())) this.#lose();
      return true;
    } catch {
      return false;
    }
  }

  #watchExpiry(): void {
    clearTimeout(this.#expiry);
    if (this.#over.signal.aborted) return;
    this.#expiry = setTimeout(() => this.#lose(), this.#lease.leftMs).unref();
  }

  /** @returns false when the hold is over */
  async #pause(ms: number): Promise<boolean> {
    return sleep(ms, true, { signal: this.#over.signal, ref: false }).catch(() => false);
  }
}
