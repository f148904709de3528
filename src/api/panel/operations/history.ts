import type { AuditQuestion } from '../../../domain/audit/newest.ts';
import { OPERATOR_AUDIT } from '../../../domain/records/audit-records.ts';
import { Refusal } from '../../../domain/refusal.ts';
import * as operations from '../../contract/panel/history.ts';
import { monthQuery } from '../../contract/operator/usage.ts';
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
  { query }: Pick<PanelRequest<unknown>, 'query'>,
  { newestAudit }: PanelServices,
) {
  const { items, next } = await newestAudit.list(accountId, questionOf(query));
  return { status: 200, body: { entries: items.map(entryBody), ...(next !== undefined && { next }) } } as const;
}

function questionOf(query: URLSearchParams): AuditQuestion {
  const asked = operations.auditQuery.safeParse(Object.fromEntries(query));
  if (!asked.success) {
    const field = String(asked.error.issues[0]?.path[0] ?? 'limit');
    throw new Refusal('invalid_request', `${field}: it has not the form that it must have.`);
  }
  return asked.data;
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
  { accountId, query, inTime, exporting },
  { usages },
) => {
  const format = query.get('format') ?? 'json';
  const asked = monthQuery.safeParse({ month: query.get('month') ?? '' });
  if (!asked.success) throw new Refusal('invalid_request', 'month: YYYY-MM is required, as in ?month=2026-01.');
  if (!['json', 'csv', 'events'].includes(format)) {
    throw new Refusal('invalid_request', 'format: json, csv or events.');
  }
  const { month } = asked.data;
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
