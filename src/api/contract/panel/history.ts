import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { count, described, givenInstant, named, numberInQuery } from '../fields.ts';
import { operation, READERS } from '../operation.ts';
import { auditEntry, auditFilters, auditPlace, verifyAudit, verifyServiceAudit } from '../operator/audit.ts';
import { decideReview, listReviewQueue } from '../operator/review-queue.ts';
import { monthQuery, readUsage } from '../operator/usage.ts';
import {
  changeApiKey,
  createApiKey,
  endFormerSecret,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from '../operator/api-keys.ts';
import { atPanel } from './derived.ts';

/* What an account keeps: its audit, its review queue, its usage and its API keys. */

const ACCOUNT = '/panel/v1/accounts/:accountId';

/** Which entries of an audit, from the newest on. */
const auditQuery = z.object({
  limit: numberInQuery(LIMITS.auditPageMax, 50, 'The most entries of the page; 50 without it.'),
  before: auditPlace('Begins before this place: the `next` of the page before.').optional(),
  actor: auditFilters.actor,
  target: described(
    z.string().regex(/^(?:app|key|user|link|account):[a-z0-9]{1,40}$/, 'must be a kind and an id, such as key:ID'),
    'Only entries of what was done to this.',
    'key:n4c8r2w6y1z5',
  ).optional(),
  action: auditFilters.action,
  appId: auditFilters.app,
  from: described(givenInstant, 'Only entries since then.', '2026-01-01T00:00:00.000Z').optional(),
  to: described(givenInstant, 'Only entries before then.', '2026-02-01T00:00:00.000Z').optional(),
});
export type AuditQuery = z.infer<typeof auditQuery>;

const newest = z
  .object({
    entries: described(z.array(auditEntry), 'The entries, newest first.', undefined),
    next: described(
      z.string(),
      'The value of `before` for the next page; absent on the last one. A page may be shorter than asked for, and have a next one.',
      'B1207A3',
    ).optional(),
  })
  .meta({ id: 'NewestAudit', description: 'A page of an audit, newest first.' });

export type AuditPage = z.infer<typeof newest>;
export type AuditEntry = z.infer<typeof auditEntry>;

export const listNewestAudit = operation({
  id: 'listNewestAudit',
  method: 'get',
  path: `${ACCOUNT}/audit`,
  access: 'viewer',
  roles: READERS,
  summary: 'List the audit, newest first',
  description: 'Lists the entries of the account from the newest on, page by page, as the filters say.',
  query: auditQuery,
  answers: [{ status: 200, description: 'A page of entries.', schema: newest }],
});

export const listNewestServiceAudit = operation({
  id: 'listNewestServiceAudit',
  method: 'get',
  path: '/panel/v1/audit',
  access: 'operator',
  roles: READERS,
  summary: 'List the audit of the service, newest first',
  description: 'Lists what concerns no single account, from the newest on, page by page, as the filters say.',
  query: auditQuery,
  answers: [{ status: 200, description: 'A page of entries.', schema: newest }],
});

/** The content of an export: all that the filters let through. */
const exportQuery = auditQuery.omit({ limit: true, before: true }).extend({
  format: named(
    'AuditFormat',
    z.enum(['csv', 'jsonl']),
    '`csv`: RFC 4180, a row an entry. `jsonl`: an entry a line, as the list has it. CSV without it.',
    'csv',
  ).optional(),
});

const exported = {
  status: 200,
  description: 'The entries, newest first. Where older ones are left out, the last line says `cut`.',
  otherTypes: {
    'text/csv':
      '"at","action","actor","actorName","target","targetName","requestId","detail"\r\n' +
      '"2026-01-30T09:12:44.120Z","key.revoked","user:p7q2r9s4t1u6v3w8","Ada Lovelace","key:n4c8r2w6y1z5","ci","4f1d","{}"\r\n',
    'application/x-ndjson': '{"cut":true,"why":"More than 50000 entries. Choose a shorter time."}\n',
  },
  headers: ['Content-Disposition'],
} as const;

const BOUND = `At most ${LIMITS.auditExportEntriesMax} entries; it is told in the audit of the service.`;

export const exportAudit = operation({
  id: 'exportAudit',
  method: 'get',
  path: `${ACCOUNT}/audit/export`,
  access: 'viewer',
  roles: READERS,
  summary: 'Export the audit',
  description: `Streams the entries of the account that the filters let through, as a file. ${BOUND}`,
  query: exportQuery,
  answers: [exported],
});

export const exportServiceAudit = operation({
  id: 'exportServiceAudit',
  method: 'get',
  path: '/panel/v1/audit/export',
  access: 'operator',
  roles: READERS,
  summary: 'Export the audit of the service',
  description: `Streams the entries about no single account that the filters let through, as a file. ${BOUND}`,
  query: exportQuery,
  answers: [exported],
});

const knownName = z
  .object({
    id: described(z.string(), 'The value of the filter.', 'user:p7q2r9s4t1u6v3w8'),
    name: described(
      z.string(),
      'The name of now, or the last one that the audit keeps; absent where there is none.',
      'Ada Lovelace',
    ).optional(),
  })
  .meta({ id: 'AuditName', description: 'Somebody or something that an audit can be filtered by.' });

const knownNames = z
  .object({
    actors: described(z.array(knownName), 'The values of `actor`, by name.', undefined),
    targets: described(
      z.array(knownName),
      'The values of `target`, by name; apps that there are are left out.',
      undefined,
    ),
    complete: described(z.boolean(), 'False where older entries, or further names, were not looked at.', true),
  })
  .meta({ id: 'AuditNames', description: 'What an audit can be filtered by.' });
export type AuditNames = z.infer<typeof knownNames>;

const NAMES =
  `persons and API keys of now, and those of the newest ${LIMITS.auditNamesLookedAtMax} entries, which may be gone; ` +
  `at most ${LIMITS.auditNamesMax} of each.`;

export const listAuditNames = operation({
  id: 'listAuditNames',
  method: 'get',
  path: `${ACCOUNT}/audit/names`,
  access: 'viewer',
  roles: READERS,
  summary: 'List who and what the audit can be filtered by',
  description: `Lists actors and targets of the account’s audit with their names: ${NAMES}`,
  answers: [{ status: 200, description: 'The names.', schema: knownNames }],
});

export const listServiceAuditNames = operation({
  id: 'listServiceAuditNames',
  method: 'get',
  path: '/panel/v1/audit/names',
  access: 'operator',
  roles: READERS,
  summary: 'List who and what the audit of the service can be filtered by',
  description: `Lists actors and targets of the service’s audit with their names: operators among the ${NAMES}`,
  answers: [{ status: 200, description: 'The names.', schema: knownNames }],
});

export const verifyAccountAudit = atPanel(verifyAudit, 'viewer');
export const verifyOperatorAudit = atPanel(verifyServiceAudit, 'operator');

/** Evidence may be a secret that a daemon found, and what stands beside it any daemon of the account may write. */
export const listReviews = { ...atPanel(listReviewQueue, 'viewer'), uncompressed: true } as const;
export const decideOnReview = atPanel(decideReview, 'owner');

const bySeverity = z.object({
  low: count('Of low severity.', 4),
  medium: count('Of medium severity.', 3),
  high: count('Of high severity.', 2),
  critical: count('Of critical severity.', 1),
});
const reviewCounts = z
  .object({
    open: described(bySeverity, 'Entries to decide, by severity.', undefined),
    confirmed: count('Entries that were confirmed.', 5),
    dismissed: count('Entries that were dismissed.', 5),
    dropped: count('Entries that made room for newer ones, of all apps that there are.', 0),
    complete: described(z.boolean(), 'False where there are more entries than were counted.', true),
  })
  .meta({ id: 'ReviewCounts', description: 'The entries of a review queue in numbers.' });
export type ReviewCounts = z.infer<typeof reviewCounts>;

export const countReviews = operation({
  id: 'countReviews',
  method: 'get',
  path: `${ACCOUNT}/review-queue/counts`,
  access: 'viewer',
  roles: { support: true },
  summary: 'Count the review queue',
  description: 'Counts the entries by status and severity, at most five seconds behind.',
  answers: [
    {
      status: 200,
      description: 'The counts.',
      schema: reviewCounts,
    },
  ],
});

const monthOfAccount = z.object({
  month: monthQuery.shape.month,
  format: described(z.enum(['json', 'csv', 'events']), 'A download in another format than JSON.', 'csv').optional(),
});
export const readAccountUsage = atPanel(readUsage, 'viewer', {
  id: 'readAccountUsage',
  path: `${ACCOUNT}/usage`,
  description: 'Reads the metered nights of a month of the account with their amount, as JSON, CSV or CloudEvents.',
  query: monthOfAccount,
  headers: [],
  answers: [{ ...readUsage.answers[0], headers: ['Content-Disposition'] }],
});

export const listAccountKeys = atPanel(listApiKeys, 'viewer');
export const createAccountKey = atPanel(createApiKey, 'owner', { freshProof: true });
export const rotateAccountKey = atPanel(rotateApiKey, 'owner', { freshProof: true });
export const endAccountKeyOverlap = atPanel(endFormerSecret, 'owner');
export const changeAccountKey = atPanel(changeApiKey, 'owner');
export const revokeAccountKey = atPanel(revokeApiKey, 'owner');
