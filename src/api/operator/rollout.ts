import { nameNow } from '../../domain/audit/names.ts';
import { ranked } from '../../domain/rollouts/account-rollouts.ts';
import type { Rollout } from '../../domain/rollouts/rollout.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/rollout.ts';
import { handle } from './route.ts';

/** A rollout as it is sent. */
export const rolloutBody = ({ failures, unhealthy, ...counts }: Rollout) => ({
  ...counts,
  failures: failures.map(({ emptied, ...failure }) => ({ ...deviceBody(failure), emptied })),
  unhealthy: unhealthy.map(deviceBody),
});

const deviceBody = ({ appId, name, error, at }: Rollout['unhealthy'][number]) => ({
  appId,
  ...(name !== '' && { name }),
  error,
  at: dateTime(at),
});

/** GET /operator/v1/accounts/{accountId}/rollout: how far the current configuration has come. */
export const readRollout = handle(operations.readRollout)(async ({ accountId }, { rollouts }) => ({
  status: 200,
  body: rolloutBody(await rollouts.of(accountId)),
}));

/** GET /operator/v1/rollouts: the accounts whose rollouts stand out, as the leader counted them last. */
export const listRollouts = handle(operations.listRollouts)(async (
  { query: { by, top } },
  { accountRollouts, fleet },
) => {
  const counted = await accountRollouts.current();
  const reader = await fleet.current();
  const listed = ranked(counted?.accounts ?? [], by).slice(0, top);
  const names = await Promise.all(listed.map(({ accountId }) => nameNow(reader, accountId, `account:${accountId}`)));
  return {
    status: 200,
    body: {
      countedAt: counted ? dateTime(counted.countedAt) : null,
      failing: counted?.failing ?? 0,
      accounts: listed.map(({ accountId, revision, applied, failed, pending, stale }, index) => ({
        accountId,
        ...(names[index] !== undefined && { name: names[index] }),
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
