import * as operations from '../../contract/v1/apps.ts';
import { handle } from './route.ts';

/** Section 4.5: POST /v1/apps/{appId}/revoke. */
export const revokeApp = handle(operations.revokeApp)(async ({ caller, appId }, { apps }) => {
  await apps.revoke(caller, appId);
  return { status: 200, body: { appId, status: 'revoked' } };
});
