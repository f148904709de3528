import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { describedName, nameText } from '../../http/fields.ts';
import { closedBody, described, instant, linkId, userId } from '../fields.ts';
import { operation, READERS } from '../operation.ts';
import { keepKeys, keepKeysQuery, madeKeys } from '../operator/users.ts';
import { madeLink } from './links.ts';
import { role } from './me.ts';

/* The members of an account, and invitations to it. */

const ACCOUNT = '/panel/v1/accounts/:accountId';
const userName = described(z.string(), 'The name of the user.', 'Ann Example');
const userLogin = described(z.string(), 'The name to sign in with; empty where there is none.', 'ann@example.com');
const actor = described(z.string(), 'Who did it, as the audit names actors.', 'user:p7q2r9s4t1u6v3w8');

const member = z
  .object({
    userId,
    name: userName,
    login: userLogin,
    disabled: described(z.boolean(), 'Whether the user is disabled.', false),
    role,
    given: described(
      role.nullable(),
      'The role by invitation; null where the provider’s groups alone give one.',
      'owner',
    ),
    mapped: described(
      role.nullable(),
      'The role that the provider’s groups give; null where they give none.',
      'viewer',
    ),
    since: described(z.string().nullable(), 'When the role by invitation was given.', '2026-01-31T09:30:00.000Z'),
  })
  .meta({ id: 'Member', description: 'A member of an account.' });

export type Member = z.infer<typeof member>;

export const listMembers = operation({
  id: 'listMembers',
  method: 'get',
  path: `${ACCOUNT}/members`,
  access: 'viewer',
  roles: READERS,
  summary: 'List the members',
  description: 'Lists the members of the account, owners first, by invitation and by the provider’s groups.',
  answers: [
    {
      status: 200,
      description: 'The members.',
      schema: z
        .object({ members: described(z.array(member), 'The members.', undefined) })
        .meta({ id: 'MemberList', description: 'The members of an account.' }),
    },
  ],
});

export const changeMember = operation({
  id: 'changeMember',
  method: 'patch',
  path: `${ACCOUNT}/members/:userId`,
  access: 'owner',
  freshProof: true,
  summary: 'Change the role of a member',
  description:
    'Gives a member by invitation another role. The last owner who can sign in stays one. The API keys that an owner made end ' +
    'with the role, unless they are kept by name.',
  body: closedBody(z.object({ role, keepKeys: keepKeys.optional() }), {
    id: 'ChangeMemberRequest',
    description: 'A role.',
  }),
  exampleWithout: ['keepKeys'],
  errors: ['conflict'],
  answers: [{ status: 204, description: 'The member has the role.' }],
});

export const removeMember = operation({
  id: 'removeMember',
  method: 'delete',
  path: `${ACCOUNT}/members/:userId`,
  access: 'owner',
  summary: 'End a membership',
  description:
    'Ends the membership by invitation, at once and on every replica. The last owner who can sign in stays. The API keys that ' +
    'an owner made end with it, unless they are kept by name.',
  query: keepKeysQuery,
  errors: ['invalid_request', 'conflict'],
  answers: [{ status: 204, description: 'The user is no member by invitation any more.' }],
});

export const listMemberKeys = operation({
  id: 'listMemberKeys',
  method: 'get',
  path: `${ACCOUNT}/members/:userId/api-keys`,
  access: 'owner',
  roles: READERS,
  summary: 'List the API keys that a member made',
  description:
    'Lists the living API keys of the account that the user made: they end when the user is no owner any more, unless they are ' +
    'kept by name. Keys of which nobody knows who made them stand apart, and go on.',
  answers: [{ status: 200, description: 'The keys.', schema: madeKeys }],
});

const invitation = z
  .object({
    linkId,
    role,
    createdAt: instant('When it was made.'),
    expiresAt: instant('When it ends to be valid.'),
    by: actor,
    byName: described(z.string(), 'The name that they have now; absent where there is none.', 'Ann Example').optional(),
    note: described(z.string(), 'What its maker noted of it; empty without it.', 'For Bob of the night shift'),
  })
  .meta({ id: 'Invitation', description: 'An open invitation.' });
export type Invitation = z.infer<typeof invitation>;

export const listInvitations = operation({
  id: 'listInvitations',
  method: 'get',
  path: `${ACCOUNT}/invitations`,
  access: 'owner',
  roles: READERS,
  summary: 'List the open invitations',
  description: 'Lists the invitations that nobody has accepted yet, without their links.',
  answers: [
    {
      status: 200,
      description: 'The invitations.',
      schema: z
        .object({
          invitations: described(z.array(invitation), 'The invitations, newest first.', undefined),
        })
        .meta({ id: 'InvitationList', description: 'The open invitations of an account.' }),
    },
  ],
});

export const createInvitation = operation({
  id: 'createInvitation',
  method: 'post',
  path: `${ACCOUNT}/invitations`,
  access: 'owner',
  freshProof: true,
  summary: 'Invite somebody',
  description:
    `Makes a link that makes one person a member, within 72 hours. An account has at most ` +
    `${LIMITS.invitationsPerAccountMax} open ones. The answer alone has the link: send it to the person.`,
  body: closedBody(
    z.object({
      role,
      note: described(
        nameText({ codePointsMax: LIMITS.invitationNoteCodePointsMax }).default(''),
        describedName(
          `A note for the list of invitations, at most ${LIMITS.invitationNoteCodePointsMax} characters; empty without it.`,
        ),
        'For Bob of the night shift',
      ),
    }),
    { id: 'CreateInvitationRequest', description: 'The role to give.' },
  ),
  errors: ['conflict'],
  answers: [{ status: 201, description: 'The link.', schema: madeLink }],
});

export const withdrawInvitation = operation({
  id: 'withdrawInvitation',
  method: 'delete',
  path: `${ACCOUNT}/invitations/:linkId`,
  access: 'owner',
  roles: { support: true },
  summary: 'Withdraw an invitation',
  description: 'Voids the link of the invitation.',
  answers: [{ status: 204, description: 'The link works no more.' }],
});
