import type { IncomingMessage } from 'node:http';
import { TOKEN_REFUSED, type LiveToken } from '../../../domain/access-tokens/token-guard.ts';
import type { AttemptReason } from '../../../domain/access-audit/failed-attempts.ts';
import type { Fleet } from '../../../domain/fleet/fleet.ts';
import type { AccessTokenEntry, FleetReader } from '../../../domain/fleet/reader.ts';
import { isExpiredToken } from '../../../domain/users/made-tokens.ts';
import { NotAuthenticated } from '../../http/errors.ts';
import { bearerOf, fieldsOf } from '../../http/request-headers.ts';

/**
 * Tells whether a request is judged by an access token alone, whatever else it has: it names the scheme. Another one is
 * that of a proxy before the panel, and lets nobody in here.
 */
export const hasBearer = (request: IncomingMessage): boolean =>
  fieldsOf(request, 'authorization').some((field) => /^\s*bearer(?:\s|$)/i.test(field));

/**
 * Finds the access token of a request, as of now or later: none that was revoked before passes (A12). One of a wrong
 * shape or checksum costs no read.
 * @throws NotAuthenticated `invalid_token`; StoreUnavailable, since authentication fails closed (H15)
 */
export async function authenticateToken(
  request: IncomingMessage,
  { fleet }: { readonly fleet: Fleet },
): Promise<LiveToken & { readonly reader: FleetReader }> {
  const bearer = bearerOf(request);
  const tokenId = bearer.accessTokenId;
  if (tokenId === undefined) throw refused('malformed');
  const reader = await fleet.current();
  const token = await reader.accessToken(tokenId);
  if (!token) throw refused('unknown');
  if (!bearer.matches(token.record.hash)) throw refused('wrong_secret', token);
  if (isExpiredToken(token.record, reader.now())) throw refused('expired', token);
  const user = await reader.user(token.record.userId);
  if (!user) throw refused('unknown', token);
  if (user.record.disabled) throw refused('disabled', token);
  return { token, user, reader };
}

/** To the client all of them are alike. The id has its prefix where the audit lists those of keys beside it. */
const refused = (reason: AttemptReason, token?: AccessTokenEntry): NotAuthenticated =>
  new NotAuthenticated(
    'invalid_token',
    {
      credential: 'access_token',
      reason,
      ...(token && { accountId: token.record.accountId, keyId: `mst_pat_${token.id}` }),
    },
    TOKEN_REFUSED,
  );
