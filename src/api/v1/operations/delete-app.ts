import { route } from './route.ts';

/** Section 4.6: DELETE /v1/apps/{appId}. */
export const deleteApp = route({
  method: 'delete',
  path: '/v1/apps/:appId',

  async handle({ caller, appId }, { apps }) {
    await apps.remove(caller, appId);
    return { status: 204 };
  },
});
