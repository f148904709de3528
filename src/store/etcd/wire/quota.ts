import { StoreUnavailable } from '../../port.ts';
import type { Endpoints } from './endpoints.ts';

const CHECK_MS = 1000;
/**
 * Nine of ten checks are skipped while room is left. Where little is left none is: an operator waits to see more of it.
 */
const CHECKS_SKIPPED = 9;
const SCARCE = 0.8;

/**
 * How full etcd is: the bytes in use against the quota. The file itself is larger, since it keeps freed pages for later
 * writes; but once the file has reached the quota etcd refuses every put, whatever is in use.
 */
export class Fullness implements Disposable {
  private readonly endpoints: Endpoints;
  private readonly quotaBytes: number;
  private readonly timer: NodeJS.Timeout;
  private last = 0;
  private skipped = 0;
  private checking = false;

  constructor(endpoints: Endpoints, quotaBytes: number) {
    this.endpoints = endpoints;
    this.quotaBytes = quotaBytes;
    this.timer = setInterval(() => void this.tick(), CHECK_MS).unref();
  }

  /** How full etcd is, 0 to 1, as it last reported. */
  get value(): number {
    return this.last;
  }

  private async tick(): Promise<void> {
    if (this.checking) return;
    if (this.last < SCARCE && this.skipped < CHECKS_SKIPPED) {
      this.skipped += 1;
      return;
    }
    this.skipped = 0;
    this.checking = true;
    await this.check();
    this.checking = false;
  }

  /** Asks etcd once. Never rejects: without the permission the value stays 0, and a failure leaves it as it is. */
  async check(): Promise<void> {
    try {
      const status = await this.endpoints.repeatedly('status', async ({ maintenance }, options) =>
        maintenance.status(options),
      );
      const refusing = status.errors.some((alarm) => alarm.includes('NOSPACE'));
      const [inUse, size] = [Number(status.dbSizeInUse), Number(status.dbSize)];
      this.last = refusing || size >= this.quotaBytes ? 1 : Math.min(1, inUse / this.quotaBytes);
    } catch (error) {
      if (error instanceof StoreUnavailable && error.reason === 'refused') clearInterval(this.timer);
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
  }
}
