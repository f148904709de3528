import { andThen } from '../../../concurrency/maybe-promise.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { dateTime } from '../../../time/date-time.ts';
import * as operations from '../../contract/v1/apps.ts';
import { REPLAYED } from '../../http/request-headers.ts';
import { listBody } from './app-list.ts';
import { cachedAppJson } from './app-view.ts';
import { handle } from './route.ts';

/** Sections 4.1 to 4.6: the operations on apps. */
export const APPS = [
  handle(operations.createApp)(async ({ caller, body: { name = '' }, idempotency }, { apps }) => {
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
  }),

  handle(operations.listApps)(({ account }) => andThen(listBody(account), (body) => ({ status: 200, body }))),

  handle(operations.readApp)(({ account, appId }) =>
    andThen(account.app(appId), (app) => {
      if (!app) throw new Refusal('not_found');
      return andThen(account.lastSeen(), ({ record: seen }) => ({ status: 200, body: cachedAppJson(app, seen) }));
    }),
  ),

  handle(operations.issueEnrollCode)(async ({ caller, appId, idempotency }, { apps }) => {
    const { enrollCode, expiresAt, replayed } = await apps.issueCode(caller, appId, idempotency);
    return {
      status: 201,
      body: { enrollCode: enrollCode.reveal(), expiresAt: dateTime(expiresAt) },
      headers: replayed ? REPLAYED : [],
    };
  }),

  handle(operations.revokeApp)(async ({ caller, appId }, { apps }) => {
    await apps.revoke(caller, appId);
    return { status: 200, body: { appId, status: 'revoked' } };
  }),

  handle(operations.deleteApp)(async ({ caller, appId }, { apps }) => {
    await apps.remove(caller, appId);
    return { status: 204 };
  }),
] as const;
