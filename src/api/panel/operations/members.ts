import { nameNow } from '../../../domain/audit/names.ts';
import { dateTime } from '../../../time/date-time.ts';
import * as operations from '../../contract/panel/members.ts';
import { linkBody, madeKeysBody } from '../../operator/users.ts';
import { handle } from '../request/route.ts';

/** GET /panel/v1/accounts/{accountId}/members. */
export const listMembers = handle(operations.listMembers)(async ({ accountId }, { members }) => {
  const listed = await members.list(accountId);
  const bodies = listed.map(({ given = null, mapped = null, since, ...member }) => ({
    ...member,
    given,
    mapped,
    since: since === undefined ? null : dateTime(since),
  }));
  return { status: 200, body: { members: bodies } };
});

/** PATCH /panel/v1/accounts/{accountId}/members/{userId}. */
export const changeMember = handle(operations.changeMember)(async (
  { origin, accountId, userId, body },
  { members },
) => {
  await members.setRole(origin, { accountId, userId }, body.role, body.keepKeys);
  return { status: 204 };
});

/** DELETE /panel/v1/accounts/{accountId}/members/{userId}. */
export const removeMember = handle(operations.removeMember)(async (
  { origin, accountId, userId, query },
  { members },
) => {
  await members.remove(origin, { accountId, userId }, query.keepKeys ?? []);
  return { status: 204 };
});

/** GET /panel/v1/accounts/{accountId}/members/{userId}/api-keys. */
export const listMemberKeys = handle(operations.listMemberKeys)(
  async ({ accountId, userId, inSession }, { madeKeys }) => ({
    status: 200,
    body: madeKeysBody(await madeKeys(userId, accountId), inSession !== undefined),
  }),
);

/** GET /panel/v1/accounts/{accountId}/invitations. */
export const listInvitations = handle(operations.listInvitations)(async ({ accountId, reader }, { links }) => {
  const invitations = (await links.invitations(accountId)).map(async ({ createdAt, expiresAt, ...invitation }) => {
    const byName = await nameNow(reader, accountId, invitation.by);
    return {
      ...invitation,
      ...(byName !== undefined && { byName }),
      createdAt: dateTime(createdAt),
      expiresAt: dateTime(expiresAt),
    };
  });
  return { status: 200, body: { invitations: await Promise.all(invitations) } };
});

/** POST /panel/v1/accounts/{accountId}/invitations. */
export const createInvitation = handle(operations.createInvitation)(
  async ({ origin, accountId, body }, { links, panel }) => ({
    status: 201,
    body: linkBody(await links.invite(origin, accountId, body), panel.url),
  }),
);

/** DELETE /panel/v1/accounts/{accountId}/invitations/{linkId}. */
export const withdrawInvitation = handle(operations.withdrawInvitation)(async (
  { origin, accountId, linkId },
  { links },
) => {
  await links.withdraw(origin, accountId, linkId);
  return { status: 204 };
});
