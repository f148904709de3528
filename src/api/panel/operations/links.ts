import type { UserEntry } from '../../../domain/fleet/reader.ts';
import { InvalidLink } from '../../../domain/users/link-validity.ts';
import { dateTime } from '../../../time/date-time.ts';
import * as operations from '../../contract/panel/links.ts';
import { NotAuthenticated } from '../../http/errors.ts';
import { networksOf } from '../../http/client-address.ts';
import { chargeAsk, failedAttempt } from '../request/admit-password.ts';
import { beginSession } from '../request/begin-session.ts';
import { hashedPassword } from '../request/new-password.ts';
import { keptInvitation } from '../request/flows.ts';
import { refuseWithoutSecondFactor } from '../request/proved.ts';
import { handleOpen, type OpenRequest, type PanelServices } from '../request/route.ts';

/** Who opens a link, and what it still needs of him. */
async function opened(request: OpenRequest<{ readonly token: string }>, services: PanelServices) {
  const reader = await services.fleet.current();
  const link = await services.links.read(reader, request.body.token).catch((error: unknown) => {
    if (!(error instanceof InvalidLink)) throw error;
    const { reason, userId, says } = error;
    throw new NotAuthenticated('invalid_request', { credential: 'link', reason, userId }, says);
  });
  const { kind, userId, accountId } = link.record;
  const user = userId === undefined ? undefined : await reader.user(userId);
  const account = accountId === undefined ? undefined : await reader.account(accountId);
  const signedIn = kind === 'invitation' ? await request.optionalSession() : undefined;
  const isNew = userId === undefined && !signedIn;
  return { link, user, account, signedIn, isNew, needsPassword: services.panel.passwords && !signedIn };
}

/** POST /panel/v1/links/read. */
export const readLink = handleOpen(operations.readLink)(async (request, services) => {
  chargeAsk(request, services, 'link read');
  const { link, user, account, signedIn, isNew, needsPassword } = await opened(request, services);
  const { kind, expiresAt, role } = link.record;
  const body: operations.Link = {
    kind,
    expiresAt: dateTime(expiresAt),
    ...(account && { accountName: account.record.name }),
    ...(role && { role }),
    ...(user && { login: user.record.login, userName: user.record.name }),
    ...(signedIn && { signedInAs: signedIn.user.record.name }),
    needsLogin: isNew,
    needsPassword,
  };
  const isForProvider = services.panel.provider !== undefined && kind === 'invitation' && isNew;
  return {
    status: 200,
    body,
    ...(isForProvider && { headers: keptInvitation(request, services, request.body.token) }),
  };
});

/** POST /panel/v1/links/accept. */
export const acceptLink = handleOpen(operations.acceptLink)(async (request, services) => {
  chargeAsk(request, services, 'link');
  const { link, user, signedIn, needsPassword } = await opened(request, services).catch((error: unknown) => {
    // A valid link waits for no failures of others behind the same address.
    throw error instanceof NotAuthenticated ? failedAttempt(request, services, 'link', error) : error;
  });
  // The door is open to anyone, and whoever is signed in goes through it with the rights of the session.
  if (signedIn) await refuseWithoutSecondFactor(operations.acceptLink, signedIn, services);
  const { token, name, login, password = '' } = request.body;
  const about = { login: login ?? user?.record.login ?? '', name: name ?? user?.record.name ?? '' };
  const { accountId: of = link.record.linkId } = link.record;
  const guest = { networks: networksOf(request.client), invitedBy: of };
  const hashed = needsPassword ? await hashedPassword(services, guest, password, about) : undefined;
  const originOf = signedIn ? () => request.userOrigin(signedIn) : request.originOf;
  const answer = { token, signedIn: signedIn?.user, name: name?.trim(), login: login?.trim(), hashed };
  const { userId, accountId } = await services.acceptLink(originOf, answer);
  if (signedIn) return { status: 200, body: accountId === undefined ? {} : { accountId } };
  // The link is used up: whoever used it is signed in by it.
  const holds = ({ record }: UserEntry): boolean => hashed === undefined || record.password?.hash === hashed;
  const proof = hashed === undefined ? undefined : ({ at: services.clock.now(), by: 'password' } as const);
  const session = { userId, method: 'link', ...(proof && { proof }) } as const;
  const headers = await beginSession(request, services, session, holds);
  return { status: 200, headers, body: accountId === undefined ? {} : { accountId } };
});
