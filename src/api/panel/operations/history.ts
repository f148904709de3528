import { OPERATOR_AUDIT } from '../../../domain/records/audit-records.ts';
import * as operations from '../../contract/panel/history.ts';
import { entryBody } from '../../operator/audit.ts';
import { listReviewQueue } from '../../operator/review-queue.ts';
import { CSV_TYPE, EVENTS_TYPE, usageBody, usageCsv, usageEvents } from '../../operator/usage-formats.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { handle, type PanelRequest, type PanelServices } from '../request/route.ts';

/** GET /panel/v1/accounts/{accountId}/audit. */
export const listNewestAudit = handle(operations.listNewestAudit)((request, services) =>
  newestOf(request.accountId, request, services),
);

/** GET /panel/v1/audit. */
export const listNewestServiceAudit = handle(operations.listNewestServiceAudit)((request, services) =>
  newestOf(OPERATOR_AUDIT, request, services),
);

/** A page on a screen is no export: what leaves the service as a whole is told by the audit, a look is not. */
async function newestOf(
  accountId: string,
  { query, chargeChange }: Pick<PanelRequest<unknown, operations.AuditQuery>, 'query' | 'chargeChange'>,
  { auditEntries }: PanelServices,
) {
  const { before, ...asked } = query;
  const page = { ...asked, after: before, order: 'desc' } as const;
  const { items, next } = await auditEntries.list(accountId, page, chargeChange);
  return {
    status: 200,
    body: { entries: items.map((entry) => entryBody(accountId, entry)), ...(next !== undefined && { next }) },
  } as const;
}

/** GET /panel/v1/accounts/{accountId}/review-queue. */
export const listReviews = handle(operations.listReviews)(listReviewQueue.handle);

/** GET /panel/v1/accounts/{accountId}/review-queue/counts. */
export const countReviews = handle(operations.countReviews)(async ({ accountId }, { watched }) => ({
  status: 200,
  body: await watched.reviews(accountId),
}));

/** GET /panel/v1/accounts/{accountId}/usage: shown as JSON, or downloaded, which the audit tells. */
export const readAccountUsage = handle(operations.readAccountUsage, { deadlineMs: LIMITS.usageDeadlineMs })(async (
  { accountId, query: { month, format = 'json' }, inTime, exporting },
  { usages },
) => {
  const usage = await usages.read({ month, of: { accountId } }, inTime);
  if (format === 'json') return { status: 200, body: usageBody(usage) };
  await inTime(exporting('usage', { month }, { after: undefined, next: undefined }));
  const [type, body, file] =
    format === 'csv'
      ? [CSV_TYPE, await usageCsv(usage), `usage-${month}.csv`]
      : [EVENTS_TYPE, await usageEvents(usage), `usage-${month}.json`];
  const headers = ['Content-Type', type, 'Content-Disposition', `attachment; filename="${file}"`];
  return { status: 200, headers, body };
});
