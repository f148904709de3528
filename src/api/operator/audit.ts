import { dateTime } from '../../time/date-time.ts';
import { pageOf, route } from './route.ts';

/** GET /operator/v1/accounts/{accountId}/audit, oldest first, page by page. */
export const listAudit = route({
  method: 'get',
  path: '/operator/v1/accounts/:accountId/audit',
  async handle({ accountId, query }, { auditEntries }) {
    const { items, next } = await auditEntries.list(accountId, pageOf(query));
    const entries = items.map(({ at, actor, action, appId, requestId, detail }) => ({
      at: dateTime(at),
      actor,
      action,
      ...(appId !== undefined && { appId }),
      requestId,
      detail,
    }));
    return { status: 200, body: { entries, ...(next !== undefined && { next }) } };
  },
});
