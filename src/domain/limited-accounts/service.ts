import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import type { ReplicaRecord } from '../records/replica-records.ts';
import type { Replicas } from '../replicas/replicas.ts';
import { mergedLimits, observedLimits, type RateLimits } from './limited-accounts.ts';
import { RefusedRequests, type RefusedRequest } from './refused-requests.ts';

/** Which accounts are limited: what this replica notes, and what all replicas know together. */
export interface LimitedAccounts {
  /** Notes a request that was refused with 429. */
  refused(request: RefusedRequest): void;
  /** As of now on this replica, and as of their last announcement on the others. @throws StoreUnavailable; BadRecord */
  current(): Promise<RateLimits>;
}

interface LimitedAccountsDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Log;
  readonly replicaId: string;
  readonly replicas: Pick<Replicas, 'live' | 'publish'>;
  /** How full the windows are that this replica knows, by account. */
  readonly fills: () => ReadonlyMap<string, number>;
}

/** Publishes from now on what this replica notes. */
export function createLimitedAccounts({ replicas, replicaId, fills, ...deps }: LimitedAccountsDeps): LimitedAccounts {
  const requests = new RefusedRequests(deps);
  const observed = (): Partial<ReplicaRecord> => observedLimits(requests, fills());
  replicas.publish(observed);
  return {
    refused: (request) => requests.refused(request),
    async current() {
      const others = (await replicas.live()).filter((replica) => replica.replicaId !== replicaId);
      return mergedLimits([observed(), ...others]);
    },
  };
}
