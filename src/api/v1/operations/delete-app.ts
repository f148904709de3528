import * as operations from '../../contract/v1/apps.ts';
import { route } from './route.ts';

/** Section 4.6: DELETE /v1/apps/{appId}. */
export const deleteApp = route(operations.deleteApp, async ({ caller, appId }, { apps }) => {
  await apps.remove(caller, appId);
  return { status: 204 };
});
