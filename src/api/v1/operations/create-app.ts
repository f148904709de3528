import { dateTime } from '../../../time/date-time.ts';
import * as operations from '../../contract/v1/apps.ts';
import { REPLAYED } from '../../http/request-headers.ts';
import { handle } from './route.ts';

/** Section 4.1: POST /v1/apps. */
export const createApp = handle(operations.createApp)(async (
  { caller, body: { name = '' }, idempotencyKey: key },
  { apps },
) => {
  const idempotency = key === undefined ? undefined : { key, path: '/v1/apps', question: name };
  const created = await apps.create(caller, name, idempotency);
  return {
    status: 201,
    body: {
      appId: created.appId,
      name: created.name,
      status: 'pending',
      enrollCode: created.enrollCode.reveal(),
      enrollCodeExpiresAt: dateTime(created.expiresAt),
    },
    headers: created.replayed ? REPLAYED : [],
  };
});
