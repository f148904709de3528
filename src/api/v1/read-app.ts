import { Refusal } from '../../domain/refusal.ts';
import { appJson } from './app-view.ts';
import { route } from './route.ts';

/** Section 4.3: GET /v1/apps/{appId}. */
export const readApp = route({
  method: 'get',
  path: '/v1/apps/:appId',

  async handle({ account, appId }) {
    const app = await account.app(appId);
    if (!app) throw new Refusal('not_found');
    return { status: 200, body: appJson(app, await account.seen()) };
  },
});
