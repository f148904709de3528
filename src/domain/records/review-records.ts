import { createHash } from 'node:crypto';
import * as z from 'zod';
import { KEYS } from './keys.ts';

const instant = z.int().min(0);

export const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const;
export const REVIEW_STATUSES = ['open', 'confirmed', 'dismissed'] as const;
export type ReviewStatus = (typeof REVIEW_STATUSES)[number];

/** A detection in the review queue. Only the evidence that the account's level allows was ever stored. */
export const reviewSchema = z.looseObject({
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
});
export type ReviewRecord = z.infer<typeof reviewSchema>;

/**
 * The entries that an app has, by digest with the bytes of each, oldest first; and how many were dropped for newer
 * ones.
 */
export const reviewIndexSchema = z.looseObject({
  entries: z.array(z.tuple([z.string(), z.int().min(0)])),
  dropped: z.int().min(0),
});
export type ReviewIndex = z.infer<typeof reviewIndexSchema>;

/** Names an entry within its app: the same event has the same digest, whenever and however often it comes. */
export const digestOf = (appId: string, eventId: string): string =>
  createHash('sha256').update(appId).update(eventId).digest('hex').slice(0, 32);

/** An entry's id leads to its key without a search: `<appId>-<digest>`. */
export const entryIdOf = (appId: string, digest: string): string => `${appId}-${digest}`;

/** @returns the key of the entry with that id in the account; undefined where no id looks like that */
export function reviewKey(accountId: string, entryId: string): string | undefined {
  const parts = ENTRY_ID.exec(entryId);
  return parts?.[1] === undefined || parts[2] === undefined ? undefined : KEYS.review(accountId, parts[1], parts[2]);
}

export const ENTRY_ID = /^([a-z0-9]{20})-([0-9a-f]{32})$/;
