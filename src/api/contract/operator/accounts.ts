import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { describedName, nameText } from '../../http/fields.ts';
import { accountId, closedBody, described, entitlement, instant, next, pageQuery } from '../fields.ts';
import { operation, READERS } from '../operation.ts';

const name = described(
  nameText({ codePointsMax: LIMITS.accountNameCodePointsMax }).min(1),
  describedName(`A name for people, 1 to ${LIMITS.accountNameCodePointsMax} characters; it need not be unique.`),
  'Example Ltd',
);
const disabled = described(z.boolean(), 'Whether every key and every daemon of the account is refused.', false);
/** The field tells what an account stores of its own. */
export const storedBytes = described(
  z.int().min(0),
  "What the account's own keys and people store, in records and audit, in bytes. It is some seconds behind, and 0 until " +
    'it comes to about a thousandth of the quota.',
  52_428_800,
);
const RESOURCE = 'production/example';

/** The two fields that follow are those of a consent in answers. */
export const adoptableUntil = instant(
  'When the consent ends, 7 days after it was given.',
  '2026-01-08T00:00:00.000Z',
).optional();
export const uid = z.string().regex(/^[A-Za-z0-9-]{1,128}$/);
const UID = 'b1c2d3e4-0000-4000-8000-000000000000';
export const offeredNamespaceUid = described(uid, 'The UID of the namespace that the consent means.', UID).optional();
/** The field belongs to a consent in requests. */
export const namespaceUid = described(
  uid,
  'The UID of the namespace of `adoptableBy`, with which it must be given. Without it the operator of Kubernetes asks the ' +
    'cluster for the UID.',
  UID,
).optional();

const account = z
  .object({
    accountId,
    name: described(z.string().max(LIMITS.accountNameCodePointsMax), 'The name for people.', 'Example Ltd'),
    entitlement,
    disabled,
    createdAt: instant('When the account was created.', '2026-01-01T00:00:00.000Z'),
    storedBytes,
    quotaMb: described(z.int().min(0), 'The quota of the account in MiB; 0 is none.', 1024),
    adoptableBy: described(z.string(), 'The FleetAccount that may adopt the account, once.', RESOURCE).optional(),
    adoptableUntil,
    namespaceUid: offeredNamespaceUid,
    managedBy: described(z.string(), 'The FleetAccount that manages the account.', RESOURCE).optional(),
    releasedBy: described(
      z.string(),
      'The FleetAccount that managed the account until it was deleted. Applied again in the same namespace it takes the ' +
        'account up again.',
      RESOURCE,
    ).optional(),
  })
  .meta({ id: 'Account', description: 'An account: an owner of apps.' });

export type Account = z.infer<typeof account>;

export const createAccount = operation({
  id: 'createAccount',
  method: 'post',
  path: '/operator/v1/accounts',
  summary: 'Create an account',
  description:
    'Creates an account without keys. Its owner needs an API key next. Send an `Idempotency-Key` where an answer may be ' +
    'lost: for 24 hours the same key gets the same answer.',
  body: closedBody(z.object({ name, entitlement }), {
    id: 'CreateAccountRequest',
    description: 'An account to create.',
  }),
  idempotency: { malformed: 'invalid_request', question: (body) => JSON.stringify([body.name, body.entitlement]) },
  answers: [
    { status: 201, description: 'The account was created.', schema: account, headers: ['Idempotency-Replayed'] },
  ],
  command: 'accounts create --name {name} --entitlement {entitlement}',
});

export const listAccounts = operation({
  id: 'listAccounts',
  method: 'get',
  path: '/operator/v1/accounts',
  roles: READERS,
  summary: 'List the accounts',
  description: 'Lists the accounts by their ids, page by page.',
  query: pageQuery,
  answers: [
    {
      status: 200,
      description: 'A page of accounts.',
      schema: z
        .object({ accounts: described(z.array(account), 'The accounts of the page.', undefined), next })
        .meta({ id: 'AccountPage', description: 'A page of accounts.' }),
    },
  ],
  command: 'accounts list',
});

export const readAccount = operation({
  id: 'readAccount',
  method: 'get',
  path: '/operator/v1/accounts/:accountId',
  roles: READERS,
  summary: 'Read an account',
  description: 'Reads one account.',
  answers: [{ status: 200, description: 'The account.', schema: account }],
  command: 'accounts get {accountId}',
});

/** The name of a custom resource that may adopt something. */
export const adoptableBy = (kind: 'FleetAccount' | 'FleetApp'): z.ZodString =>
  z
    .string()
    .max(507)
    .regex(/^[a-z0-9][-a-z0-9]*\/[a-z0-9][-a-z0-9.]*$/, `must be a ${kind}, as namespace/name, or null`);

export const changeAccount = operation({
  id: 'changeAccount',
  method: 'patch',
  path: '/operator/v1/accounts/:accountId',
  roles: { support: [{ field: 'disabled', is: true }] },
  summary: 'Change an account',
  description: 'Changes the fields that the body has. A disabled account is refused at once, on every listener.',
  body: closedBody(
    z.object({
      name: name.optional(),
      entitlement: entitlement.optional(),
      disabled: disabled.optional(),
      quotaMb: described(
        z.int().min(0).max(LIMITS.accountQuotaMbMax).nullable(),
        'The quota of the account in MiB, 0 for none; null for that of the installation, `MUSTER_ACCOUNT_QUOTA_MB`.',
        4096,
      ).optional(),
      adoptableBy: described(
        adoptableBy('FleetAccount').nullable(),
        'The FleetAccount, as `namespace/name`, that may adopt the account, once; null withdraws it. Either forgets ' +
          '`releasedBy`.',
        RESOURCE,
      ).optional(),
      namespaceUid,
    }),
    { id: 'ChangeAccountRequest', description: 'The fields to change.' },
  ),
  // A sample that is pasted for a new name neither enables the account nor gives it away.
  exampleWithout: ['entitlement', 'disabled', 'quotaMb', 'adoptableBy', 'namespaceUid'],
  errors: ['conflict'],
  answers: [{ status: 200, description: 'The account as it is now.', schema: account }],
  command: 'accounts update {accountId} --name {name}',
});
