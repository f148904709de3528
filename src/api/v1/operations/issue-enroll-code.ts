import { dateTime } from '../../../time/date-time.ts';
import * as operations from '../../contract/v1/apps.ts';
import { REPLAYED } from '../../http/request-headers.ts';
import { handle } from './route.ts';

/** Section 4.4: POST /v1/apps/{appId}/enroll-code. */
export const issueEnrollCode = handle(operations.issueEnrollCode)(async (
  { caller, appId, idempotencyKey: key },
  { apps },
) => {
  const idempotency = key === undefined ? undefined : { key, path: `/v1/apps/${appId}/enroll-code`, question: '' };
  const { enrollCode, expiresAt, replayed } = await apps.issueCode(caller, appId, idempotency);
  return {
    status: 201,
    body: { enrollCode: enrollCode.reveal(), expiresAt: dateTime(expiresAt) },
    headers: replayed ? REPLAYED : [],
  };
});
