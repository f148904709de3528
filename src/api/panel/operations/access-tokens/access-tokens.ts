import { dateTime } from '../../../../time/date-time.ts';
import * as operations from '../../../contract/panel/access-tokens/operations.ts';
import { tokenBody } from '../../../operator/users.ts';
import { handleInSession } from '../../request/route.ts';

/** GET /panel/v1/me/access-tokens. */
export const listAccessTokens = handleInSession(operations.listAccessTokens)(
  async ({ signedIn }, { accessTokens }) => ({
    status: 200,
    body: { accessTokens: (await accessTokens.list(signedIn.user.id)).map(tokenBody) },
  }),
);

/** POST /panel/v1/me/access-tokens. */
export const createAccessToken = handleInSession(operations.createAccessToken)(async (
  { origin, signedIn, body },
  { accessTokens },
) => {
  const { token, createdAt, expiresAt, ...made } = await accessTokens.create(origin, signedIn.user.id, body);
  return {
    status: 201,
    body: { ...made, token: token.reveal(), createdAt: dateTime(createdAt), expiresAt: dateTime(expiresAt) },
  };
});

/** DELETE /panel/v1/me/access-tokens/{tokenId}. */
export const revokeAccessToken = handleInSession(operations.revokeAccessToken)(async (
  { origin, signedIn, tokenId },
  { accessTokens },
) => {
  await accessTokens.revoke(origin, signedIn.user.id, tokenId);
  return { status: 204 };
});
