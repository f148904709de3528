import { StoreUnavailable } from '../../port.ts';
import type { Endpoints } from './endpoints.ts';

const LOOK_MS = 1000;
/** With room left most looks are spared; where little is left somebody waits for more. */
const LOOKS_SPARED = 9;
const SCARCE = 0.8;

/**
 * How full etcd is: what is in use against the quota. The file itself is larger, since it keeps freed pages for what
 * comes next; but once the file has reached the quota etcd refuses every put, whatever is in use.
 */
export class Fullness implements Disposable {
  private readonly endpoints: Endpoints;
  private readonly quotaBytes: number;
  private readonly timer: NodeJS.Timeout;
  private last = 0;
  private spared = 0;
  private looking = false;

  constructor(endpoints: Endpoints, quotaBytes: number) {
    this.endpoints = endpoints;
    this.quotaBytes = quotaBytes;
    this.timer = setInterval(() => void this.tick(), LOOK_MS).unref();
  }

  get value(): number {
    return this.last;
  }

  private async tick(): Promise<void> {
    if (this.looking) return;
    if (this.last < SCARCE && this.spared < LOOKS_SPARED) {
      this.spared += 1;
      return;
    }
    this.spared = 0;
    this.looking = true;
    await this.look();
    this.looking = false;
  }

  /** Never rejects: a user who may not ask is told 0, and a status that fails changes nothing. */
  async look(): Promise<void> {
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
