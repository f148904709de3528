import { dateTime } from '../../time/date-time.ts';
import { pageOf, route } from './route.ts';

export const listAudit = route({
  method: 'get',
  path: '/operator/v1/accounts/:accountId/audit',
  async handle({ accountId, query }, { accounts }) {
    const { items, next } = await accounts.audit(accountId, pageOf(query));
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
