import * as operations from '../../contract/v1/apps.ts';
import { handle } from './route.ts';

/** Section 4.6: DELETE /v1/apps/{appId}. */
export const deleteApp = handle(operations.deleteApp)(async ({ caller, appId }, { apps }) => {
  await apps.remove(caller, appId);
  return { status: 204 };
});
