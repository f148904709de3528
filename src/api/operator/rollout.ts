import { ranked } from '../../domain/otel-config/account-rollouts.ts';
import type { Rollout } from '../../domain/otel-config/rollout.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/rollout.ts';
import { handle } from './route.ts';

/** A rollout as it is sent. */
export const rolloutBody = ({ failures, unhealthy, ...counts }: Rollout) => ({
  ...counts,
  failures: failures.map(({ appId, error, at, emptied }) => ({ appId, error, at: dateTime(at), emptied })),
  unhealthy: unhealthy.map(({ appId, error, at }) => ({ appId, error, at: dateTime(at) })),
});

/** GET /operator/v1/accounts/{accountId}/rollout: how far the current configuration has come. */
export const readRollout = handle(operations.readRollout)(async ({ accountId }, { rollouts }) => ({
  status: 200,
  body: rolloutBody(await rollouts.of(accountId)),
}));

/** GET /operator/v1/rollouts: the accounts whose rollouts stand out, as the leader counted them last. */
export const listRollouts = handle(operations.listRollouts)(async ({ query }, { accountRollouts }) => {
  const counted = await accountRollouts.current();
  return {
    status: 200,
    body: {
      countedAt: counted ? dateTime(counted.countedAt) : null,
      failing: counted?.failing ?? 0,
      accounts: ranked(counted?.accounts ?? [], query.by)
        .slice(0, query.top)
        .map(({ accountId, revision, applied, failed, pending, stale }) => ({
          accountId,
          revision,
          devices: applied + failed + pending + stale,
          applied,
          failed,
          pending,
          stale,
        })),
    },
  };
});
