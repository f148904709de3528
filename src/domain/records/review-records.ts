import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Key } from '../../store/port.ts';
import { record, type RecordOf } from './registry.ts';
import { instant } from './shapes.ts';

export const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const;
export const REVIEW_STATUSES = ['open', 'confirmed', 'dismissed'] as const;
export type ReviewStatus = (typeof REVIEW_STATUSES)[number];

export const reviewRecords = {
  /** A detection in the review queue. Only the evidence that the account's level allows was ever stored. */
  review: record('review/<accountId>/<appId>/<digest>', {
    schema: z.looseObject({
      /** When the daemon says that it happened; `receivedAt` is the service's own clock. */
      at: instant,
      receivedAt: instant,
      rule: z.string(),
      severity: z.enum(SEVERITIES),
      evidence: z.object({ hash: z.string(), redacted: z.string().optional(), full: z.string().optional() }),
      status: z.enum(REVIEW_STATUSES),
      note: z.string().optional(),
      /** When it left `open`; absent while it is open. */
      decidedAt: instant.optional(),
    }),
    writeClass: 'growth',
    backup: 'kept',
    ownedBy: 'app',
    holds: 'an entry of the review queue',
  }),
  /**
   * The entries that an app has, by digest with the bytes of each, oldest first, and how many were dropped for newer
   * ones. Whoever adds one writes this record, which keeps their bound exact.
   */
  reviewIndex: record('reviews/<accountId>/<appId>', {
    schema: z.looseObject({
      entries: z.array(z.tuple([z.string(), z.int().min(0)])),
      dropped: z.int().min(0),
      /**
       * Counts what the audit tells of critical events: so many entries in this hour (since 1970), and so many events
       * that the next entry counts as well. Absent before the first one.
       */
      critical: z.looseObject({ hour: z.int(), told: z.int().min(0), more: z.int().min(0) }).optional(),
    }),
    writeClass: 'growth',
    backup: 'kept',
    ownedBy: 'app',
    holds: 'which entries an app has, and how many were dropped',
  }),
};
export type ReviewRecord = RecordOf<typeof reviewRecords.review>;
export type ReviewIndex = RecordOf<typeof reviewRecords.reviewIndex>;

/** Names an entry within its app: the same event has the same digest, whenever and however often it comes. */
export const digestOf = (appId: string, eventId: string): string =>
  createHash('sha256').update(appId).update(eventId).digest('hex').slice(0, 32);

/** An entry's id leads to its key without a search: `<appId>-<digest>`. */
export const entryIdOf = (appId: string, digest: string): string => `${appId}-${digest}`;

/** @returns the key of the entry with that id in the account; undefined where no id looks like that */
export function reviewKey(accountId: string, entryId: string): Key<ReviewRecord> | undefined {
  const parts = ENTRY_ID.exec(entryId);
  return parts?.[1] === undefined || parts[2] === undefined
    ? undefined
    : reviewRecords.review(accountId, parts[1], parts[2]);
}

const ENTRY_ID = /^([a-z0-9]{20})-([0-9a-f]{32})$/;
