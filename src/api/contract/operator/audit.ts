import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { APP_ID, count, described, givenInstant, instant, instantOrNull, named, next, pageQuery } from '../fields.ts';
import { operation, READERS } from '../operation.ts';

/** An entry of an audit. */
export const auditEntry = z
  .object({
    at: instant('When it happened.'),
    actor: described(
      z.string(),
      'Who did it: `key:ID`, `user:ID`, `user:ID:TOKEN` by an access token, `operator`, `operator:NAME`, `operator:NAME:ROLE`, `device:ID` or the service.',
      'operator',
    ),
    actorName: described(
      z.string().max(LIMITS.auditNameBytesMax),
      'The name of the actor when it was done; absent where it had none, and in entries of earlier versions.',
      'Ada Lovelace',
    ).optional(),
    action: described(z.string(), 'What was done.', 'app.created'),
    appId: described(
      z.string(),
      'The app that it was done to; absent where it was none.',
      'k3v9x0q2m7t5b8n1c4d6',
    ).optional(),
    target: described(
      z.string(),
      'What it was done to: `app:ID`, `key:ID`, `access-token:ID`, `user:ID`, `link:ID` or `account:ID`; absent where it was none of these.',
      'app:k3v9x0q2m7t5b8n1c4d6',
    ).optional(),
    targetName: described(
      z.string().max(LIMITS.auditNameBytesMax),
      'The name of the target: the new one where it was created or renamed, the last one where it was deleted.',
      'edge-7',
    ).optional(),
    requestId: described(z.string(), 'The `X-Request-Id` of the request.', 'deploy-42'),
    detail: described(
      // No generator bears a union of texts, numbers and booleans in every language: the schema of the record alone
      // (domain/records/audit-records.ts) holds the values to these types.
      z.record(z.string(), z.unknown()),
      'More of it, by names that depend on the action: texts, numbers and booleans; never a secret.',
      { keyId: 'n4c8r2w6y1z5' },
    ),
  })
  .meta({ id: 'AuditEntry', description: 'An entry of an audit.' });

/** The filters of the entries of an audit, at each of its doors. */
export const auditFilters = {
  actor: described(
    z.string().max(600),
    'Only entries of this actor; of a user also what they did by access tokens.',
    'user:p7q2r9s4t1u6v3w8',
  ).optional(),
  action: described(
    z.string().max(60),
    'Only this action, or those that begin so where it ends in a dot.',
    'app.',
  ).optional(),
  app: described(
    z.string().regex(APP_ID, 'must be the id of an app'),
    'Only entries of this app.',
    'k3v9x0q2m7t5b8n1c4d6',
  ).optional(),
} as const;

const order = named(
  'AuditOrder',
  z.enum(['asc', 'desc']),
  '`asc`: the oldest entry first, as without it. `desc`: the newest one first.',
  'desc',
);

/** A place between two pages of an audit. */
export const auditPlace = (description: string) =>
  described(z.string().regex(/^[A-Za-z0-9-]{1,200}$/, 'must be the next of the page before'), description, 'B1207A3');

/** The entries of an audit that are asked for, in one of two orders. */
const auditQuery = pageQuery.extend({
  after: auditPlace('Begins after this place: the `next` of the page before.').optional(),
  order: order.optional(),
  ...auditFilters,
  since: described(givenInstant, 'Only entries since then.', '2026-01-01T00:00:00.000Z').optional(),
  until: described(givenInstant, 'Only entries before then.', '2026-02-01T00:00:00.000Z').optional(),
});
export type AuditQuery = z.infer<typeof auditQuery>;

const page = z
  .object({
    entries: described(z.array(auditEntry), 'The entries, in the order that was asked for.', undefined),
    order,
    next: next.meta({
      description:
        'The value of `after` for the next page; absent on the last one. A page that is filtered, or has the newest entries first, may be shorter than asked for, and have a next one.',
      examples: ['B1207A3'],
    }),
  })
  .meta({ id: 'AuditPage', description: 'A page of an audit.' });

const fault = named(
  'AuditFault',
  z.object({
    what: named(
      'AuditFaultKind',
      z.enum(['removed', 'changed', 'added', 'backdated', 'chain_broken']),
      'The kind of the fault.',
      'removed',
    ),
    block: described(z.int(), 'The number of the block; absent where no block has the entry.', 3).optional(),
    entry: described(
      z.string(),
      'The name of the entry; absent for a fault of the chain.',
      '0mhx4k1qz-3f9a',
    ).optional(),
    at: instantOrNull('The instant that the entry claims; null where no date has it.').optional(),
    says: described(z.string(), 'A sentence for people.', 'An entry of block 3 is missing.'),
  }),
  'A fault of the audit.',
);

const verification = z
  .object({
    accountId: described(z.string(), 'The account, or `operator`.', 'a1b2c3d4e5f6g7h8'),
    entries: count('How many sealed entries exist.', 1200),
    blocks: count('How many blocks the chain has.', 14),
    firstBlock: count('The number of the first block: above 1 where the retention has cut the beginning.', 1),
    unsealed: count('How many entries are new; they are sealed within seconds.', 2),
    head: named(
      'AuditHead',
      z.object({
        number: count('The number of the newest block.', 14),
        digest: described(
          z.string(),
          'Its digest, SHA-256 in base64url.',
          'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg',
        ),
        at: instant('When it was sealed.'),
      }),
      'The newest block, absent where there is none: keep it elsewhere, and compare.',
    ).optional(),
    ownBytes: count("The bytes of sealed entries that the account's own keys and people have written.", 52_428_800),
    notedBytes: described(
      z.int().min(0).nullable(),
      'The same as the quota goes by them; null while they are not counted, or the oldest ones are being removed. A wrong ' +
        'number is counted anew.',
      52_428_800,
    ),
    faults: described(z.array(fault), 'At most 100 faults.', undefined),
    faultCount: count('The number of all faults.', 1),
  })
  .meta({ id: 'AuditVerification', description: 'The result of a verification of the audit.' });

export type AuditVerification = z.infer<typeof verification>;

const VERIFICATION = 'Finds entries that were removed, added or changed. It takes up to two minutes for a large audit.';

export const listAudit = operation({
  id: 'listAudit',
  method: 'get',
  path: '/operator/v1/accounts/:accountId/audit',
  roles: READERS,
  summary: 'List the audit of an account',
  description:
    'Lists the entries of an account, oldest first or newest first, page by page, as the filters say. The export is an entry itself.',
  query: auditQuery,
  answers: [{ status: 200, description: 'A page of entries.', schema: page }],
  command: 'audit list --account {accountId}',
});

export const verifyAudit = operation({
  id: 'verifyAudit',
  method: 'get',
  path: '/operator/v1/accounts/:accountId/audit/verification',
  roles: READERS,
  summary: 'Verify the audit of an account',
  description: VERIFICATION,
  answers: [{ status: 200, description: 'What the verification found.', schema: verification }],
  command: 'audit verify --account {accountId}',
});

export const listServiceAudit = operation({
  id: 'listServiceAudit',
  method: 'get',
  path: '/operator/v1/audit',
  roles: READERS,
  summary: 'List the audit of the service',
  description:
    'Lists what concerns no single account, such as a backup, oldest first or newest first, page by page, as the filters say.',
  query: auditQuery,
  answers: [{ status: 200, description: 'A page of entries.', schema: page }],
  command: 'audit list --account operator',
});

export const verifyServiceAudit = operation({
  id: 'verifyServiceAudit',
  method: 'get',
  path: '/operator/v1/audit/verification',
  roles: READERS,
  summary: 'Verify the audit of the service',
  description: VERIFICATION,
  answers: [{ status: 200, description: 'What the verification found.', schema: verification }],
  command: 'audit verify --account operator',
});
