import { actorNameOf, targetOf } from '../../domain/audit/names.ts';
import { type AuditRecord, OPERATOR_AUDIT } from '../../domain/records/audit-records.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/audit.ts';
import type { Call } from '../serve/route.ts';
import { handle, type OperatorCall, type OperatorServices } from './route.ts';

/** GET /operator/v1/accounts/{accountId}/audit, page by page. */
export const listAudit = handle(operations.listAudit)((request, services) =>
  pageOfEntries(request.accountId, request, services),
);

/** GET /operator/v1/audit: what the operator did with no single account, such as a backup. */
export const listServiceAudit = handle(operations.listServiceAudit)((request, services) =>
  pageOfEntries(OPERATOR_AUDIT, request, services),
);

async function pageOfEntries(
  accountId: string,
  { query, exporting }: Pick<Call<unknown, operations.AuditQuery> & OperatorCall, 'query' | 'exporting'>,
  { auditEntries }: Pick<OperatorServices, 'auditEntries'>,
) {
  const { order = 'asc', app, since, until, after, ...asked } = query;
  const page = { ...asked, order, after, appId: app, from: since, to: until };
  const { items, next } = await auditEntries.list(accountId, page);
  await exporting('audit', { accountId }, { after, next });
  const entries = items.map((entry) => entryBody(accountId, entry));
  return { status: 200, body: { entries, order, ...(next !== undefined && { next }) } } as const;
}

/** An entry of the audit of an account, or of the service, as it is sent. */
export function entryBody(accountId: string, entry: AuditRecord) {
  const { at, actor, action, appId, targetName, requestId, detail } = entry;
  const [actorName, target] = [actorNameOf(entry), targetOf(accountId, entry)];
  return {
    at: dateTime(at),
    actor,
    ...(actorName !== undefined && { actorName }),
    action,
    ...(appId !== undefined && { appId }),
    ...(target !== undefined && { target }),
    ...(targetName !== undefined && { targetName }),
    requestId,
    detail,
  };
}
