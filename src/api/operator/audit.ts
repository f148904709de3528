import type { AuditEntries } from '../../domain/audit/list.ts';
import { OPERATOR_AUDIT } from '../../domain/records/audit-records.ts';
import { dateTime } from '../../time/date-time.ts';
import type { Reply } from '../http/exchange.ts';
import { pageOf, route } from './route.ts';

/** GET /operator/v1/accounts/{accountId}/audit, oldest first, page by page. */
export const listAudit = route({
  method: 'get',
  path: '/operator/v1/accounts/:accountId/audit',
  handle: ({ accountId, query }, { auditEntries }) => pageOfEntries(accountId, query, auditEntries),
});

/** GET /operator/v1/audit: what the operator did with no single account, such as a backup. */
export const listServiceAudit = route({
  method: 'get',
  path: '/operator/v1/audit',
  handle: ({ query }, { auditEntries }) => pageOfEntries(OPERATOR_AUDIT, query, auditEntries),
});

async function pageOfEntries(accountId: string, query: URLSearchParams, auditEntries: AuditEntries): Promise<Reply> {
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
}
