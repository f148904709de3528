import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { REVIEW_STATUSES } from '../../../domain/records/review-records.ts';
import { text } from '../../http/fields.ts';
import { appId, closedBody, described, entryId, instant, named, next, pageQuery, severity } from '../fields.ts';
import { operation } from '../operation.ts';

const status = named('ReviewStatus', z.enum(REVIEW_STATUSES), 'What was decided; `open` until then.', 'open');

const entry = z
  .object({
    entryId,
    appId,
    appName: described(z.string(), 'The name of the app; absent where it has none.', 'edge-7').optional(),
    at: instant('When the daemon says that it happened.'),
    receivedAt: instant('When the service received it.'),
    rule: described(z.string(), 'The rule that found it.', 'secrets-in-prompt'),
    severity,
    evidence: named(
      'Evidence',
      z.object({
        hash: described(z.string(), 'A hash of what was found.', 'sha256:9f86d081884c7d65'),
        redacted: described(z.string(), 'What was found, without what is private.', 'key=****').optional(),
        full: described(z.string(), 'All that was found.', 'key=hunter2').optional(),
      }),
      'The evidence that the account’s level allowed when it came.',
    ),
    status,
    note: described(
      z.string().max(LIMITS.reviewNoteCodePointsMax),
      'The note of the decision.',
      'Seen with the owner.',
    ).optional(),
    decidedAt: instant('When it left `open`.').optional(),
  })
  .meta({ id: 'ReviewEntry', description: 'A detection in the review queue.' });

export type ReviewEntry = z.infer<typeof entry>;

/** A place in this list is the id of an entry. */
const PLACE = { examples: ['k3v9x0q2m7t5b8n1c4d6-0f1e2d3c4b5a69788796a5b4c3d2e1f0'] };

export const listReviewQueue = operation({
  id: 'listReviewQueue',
  method: 'get',
  path: '/operator/v1/accounts/:accountId/review-queue',
  roles: { support: true },
  summary: 'List the review queue',
  description: 'Lists the detections of the account’s daemons, page by page.',
  query: pageQuery.extend({
    after: pageQuery.shape.after.meta(PLACE),
    status: described(status, 'Only entries of this status; all without it.', 'open').optional(),
  }),
  answers: [
    {
      status: 200,
      description: 'A page of entries.',
      schema: z
        .object({ entries: described(z.array(entry), 'The entries of the page.', undefined), next: next.meta(PLACE) })
        .meta({ id: 'ReviewPage', description: 'A page of the review queue.' }),
    },
  ],
  command: 'review list --account {accountId}',
});

export const decideReview = operation({
  id: 'decideReview',
  method: 'patch',
  path: '/operator/v1/accounts/:accountId/review-queue/:entryId',
  summary: 'Decide on an entry',
  description: 'Sets the status of an entry, and its note.',
  body: closedBody(
    z.object({
      status: described(status, 'The decision.', 'confirmed'),
      note: described(
        text({ codePointsMax: LIMITS.reviewNoteCodePointsMax }),
        `A note, at most ${LIMITS.reviewNoteCodePointsMax} characters; without it the stored one stays, an empty one removes it.`,
        'Seen with the owner.',
      ).optional(),
    }),
    { id: 'DecideReviewRequest', description: 'A decision on a detection.' },
  ),
  answers: [{ status: 200, description: 'The entry as it is now.', schema: entry }],
  command: 'review confirm {entryId} --account {accountId} --note {note}',
});
