import type { ReviewEntry } from '../../domain/review-queue/review-queue.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/review-queue.ts';
import { handle } from './route.ts';

function entryBody(entry: ReviewEntry) {
  const { entryId, appId, appName, at, receivedAt, rule, severity, evidence, status, note, decidedAt } = entry;
  return {
    entryId,
    appId,
    ...(appName !== '' && { appName }),
    at: dateTime(at),
    receivedAt: dateTime(receivedAt),
    rule,
    severity,
    evidence,
    status,
    ...(note !== undefined && { note }),
    ...(decidedAt !== undefined && { decidedAt: dateTime(decidedAt) }),
  };
}

/** GET /operator/v1/accounts/{accountId}/review-queue, page by page. */
export const listReviewQueue = handle(operations.listReviewQueue)(async ({ accountId, query }, { reviewQueue }) => {
  const { limit, after, status } = query;
  const { items, next } = await reviewQueue.list(accountId, { limit, after, status });
  return { status: 200, body: { entries: items.map(entryBody), ...(next !== undefined && { next }) } };
});

/** PATCH /operator/v1/accounts/{accountId}/review-queue/{entryId}. */
export const decideReview = handle(operations.decideReview)(
  async ({ origin, accountId, entryId, body: { status, note } }, { reviewQueue }) => ({
    status: 200,
    body: entryBody(await reviewQueue.decide(origin, accountId, entryId, { status, note })),
  }),
);
