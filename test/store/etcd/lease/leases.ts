import { LeaseClient } from 'etcd3';
import { vi } from 'vitest';
import { Connection } from '../../../../src/store/etcd/wire/channel.ts';

/** Checks that wait for seconds leave the processor to the process that is checked. */
const LOOK_EVERY_MS = 50;
/** The test's own time limit is shorter. */
const TIMEOUT_MS = 3_600_000;

/** Leases as etcd sees them, beside the store. */
export class Leases implements Disposable {
  private readonly connection: Connection;
  private readonly client: LeaseClient;

  constructor(url: string) {
    this.connection = new Connection('Lease', url, undefined);
    this.client = new LeaseClient(this.connection);
  }

  async ids(): Promise<ReadonlySet<string>> {
    return new Set((await this.client.leaseLeases()).leases.map(({ ID }) => ID));
  }

  /** Those that were not there before. */
  async since(before: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    return new Set([...(await this.ids())].filter((id) => !before.has(id)));
  }

  /** Resolves when a lease that nobody renews, granted now, has expired. */
  async untilOneExpires(ttlMs: number): Promise<void> {
    const { ID } = await this.client.leaseGrant({ TTL: ttlMs / 1000 });
    await looked(async () => Number((await this.client.leaseTimeToLive({ ID })).TTL) < 0);
  }

  /** Resolves when somebody renews the only lease there is; it then has longer to live than it had. */
  async untilRenewed(): Promise<void> {
    const [ID] = await this.ids();
    if (ID === undefined) throw new Error('there is no lease that could be renewed');
    let leastS = Number.POSITIVE_INFINITY;
    await looked(async () => {
      const leftS = Number((await this.client.leaseTimeToLive({ ID })).TTL);
      if (leftS < 0) throw new Error('the lease is gone');
      const renewed = leftS > leastS;
      leastS = Math.min(leastS, leftS);
      return renewed;
    });
  }

  [Symbol.dispose](): void {
    this.connection.close();
  }
}

async function looked(holds: () => Promise<boolean>): Promise<void> {
  await vi.waitUntil(holds, { interval: LOOK_EVERY_MS, timeout: TIMEOUT_MS });
}
