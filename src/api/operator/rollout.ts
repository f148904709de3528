import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/service.ts';
import { route } from './route.ts';

/** GET /operator/v1/accounts/{accountId}/rollout: how far the current configuration has come. */
export const readRollout = route(operations.readRollout, async ({ accountId }, { rollouts }) => {
  const { failures, ...counts } = await rollouts.of(accountId);
  const failureBodies = failures.map(({ appId, error, at }) => ({ appId, error, at: dateTime(at) }));
  return { status: 200, body: { ...counts, failures: failureBodies } };
});
