import * as z from 'zod';
import { LIMITS } from '../../domain/limits.ts';
import { REVIEW_STATUSES, type ReviewStatus } from '../../domain/records/review-records.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { ReviewEntry } from '../../domain/review-queue/review-queue.ts';
import { dateTime } from '../../time/date-time.ts';
import { text } from '../http/fields.ts';
import { pageOf, route } from './route.ts';

function entryBody(entry: ReviewEntry): object {
  const { entryId, appId, at, receivedAt, rule, severity, evidence, status, note, decidedAt } = entry;
  return {
    entryId,
    appId,
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

function statusOf(query: URLSearchParams): ReviewStatus | undefined {
  const asked = query.get('status');
  if (asked === null) return undefined;
  const status = REVIEW_STATUSES.find((known) => known === asked);
  if (!status) throw new Refusal('invalid_request', `status: ${REVIEW_STATUSES.join(', ')}, or absent for all.`);
  return status;
}

/** GET /operator/v1/accounts/{accountId}/review-queue, page by page. */
export const listReviewQueue = route({
  method: 'get',
  path: '/operator/v1/accounts/:accountId/review-queue',
  async handle({ accountId, query }, { reviewQueue }) {
    const { items, next } = await reviewQueue.list(accountId, { ...pageOf(query), status: statusOf(query) });
    return { status: 200, body: { entries: items.map(entryBody), ...(next !== undefined && { next }) } };
  },
});

/** PATCH /operator/v1/accounts/{accountId}/review-queue/{entryId}. */
export const decideReview = route({
  method: 'patch',
  path: '/operator/v1/accounts/:accountId/review-queue/:entryId',
  body: z.object({
    status: z.enum(REVIEW_STATUSES),
    note: text({ codePointsMax: LIMITS.reviewNoteCodePointsMax }).optional(),
  }),
  async handle({ origin, accountId, entryId, body: { status, note } }, { reviewQueue }) {
    return { status: 200, body: entryBody(await reviewQueue.decide(origin, accountId, entryId, { status, note })) };
  },
});
