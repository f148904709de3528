import { OPERATOR_AUDIT } from '../../domain/records/audit-records.ts';
import { dateTime } from '../../time/date-time.ts';
import type { Reply } from '../http/exchange.ts';
import { pageOf, route, type OperatorRequest, type OperatorServices } from './route.ts';

/** GET /operator/v1/accounts/{accountId}/audit, oldest first, page by page. */
export const listAudit = route({
  method: 'get',
  path: '/operator/v1/accounts/:accountId/audit',
  handle: (request, services) => pageOfEntries(request.accountId, request, services),
});

/** GET /operator/v1/audit: what the operator did with no single account, such as a backup. */
export const listServiceAudit = route({
  method: 'get',
  path: '/operator/v1/audit',
  handle: (request, services) => pageOfEntries(OPERATOR_AUDIT, request, services),
});

/** The first page begins an export, and the others go on with it. */
async function pageOfEntries(
  accountId: string,
  { query, origin }: Pick<OperatorRequest<unknown>, 'query' | 'origin'>,
  { auditEntries, auditExport }: Pick<OperatorServices, 'auditEntries' | 'auditExport'>,
): Promise<Reply> {
  const page = pageOf(query);
  const { items, next } = await auditEntries.list(accountId, page);
  if (page.after === undefined) await auditExport('audit', origin, { accountId });
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
