import type { Rollout } from '../../domain/otel-config/rollout.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/service.ts';
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
