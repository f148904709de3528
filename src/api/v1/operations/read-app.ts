import { andThen } from '../../../concurrency/maybe-promise.ts';
import { Refusal } from '../../../domain/refusal.ts';
import * as operations from '../../contract/v1/apps.ts';
import { cachedAppJson } from './app-view.ts';
import { handle } from './route.ts';

/** Section 4.3: GET /v1/apps/{appId}. */
export const readApp = handle(operations.readApp)(({ account, appId }) =>
  andThen(account.app(appId), (app) => {
    if (!app) throw new Refusal('not_found');
    return andThen(account.lastSeen(), ({ record: seen }) => ({ status: 200, body: cachedAppJson(app, seen) }));
  }),
);
