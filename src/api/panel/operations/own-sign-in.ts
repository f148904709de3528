import type { UserEntry } from '../../../domain/fleet/reader.ts';
import type { PasskeyRecord } from '../../../domain/records/user-records.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Replacement } from '../../../domain/users/replaced-session.ts';
import { identityId } from '../../../domain/users/user-state.ts';
import { dateTime } from '../../../time/date-time.ts';
import { beginRegistration, endRegistration, placeOf } from '../../../webauthn/webauthn.ts';
import * as operations from '../../contract/panel/own-sign-in.ts';
import { comparePassword } from '../request/compare-password.ts';
import { setCookie } from '../request/cookies.ts';
import { keepFlow, flowOf } from '../request/flows.ts';
import { hashedPassword } from '../request/new-password.ts';
import { changeWayIn } from '../request/renew-session.ts';
import { handleInSession } from '../request/route.ts';

const WRONG_CURRENT = 'current: this is not the password so far.';

/** PUT /panel/v1/me/password. All other sessions end with it, and this one goes on under another token. */
export const changePassword = handleInSession(operations.changePassword)(async (request, services) => {
  const { signedIn, origin, body } = request;
  const { panel } = services;
  if (!panel.passwords) throw new Refusal('invalid_request', 'Nobody signs in with a password here.');
  const { id, record } = signedIn.user;
  if (record.login === '')
    throw new Refusal('invalid_request', 'Without a name to sign in with, a password is no use.');
  const stored = record.password?.hash;
  if (stored !== undefined) {
    await comparePassword(request, services, signedIn.user, body.current ?? '', WRONG_CURRENT);
  }
  const hashed = await hashedPassword(services, { known: `session of ${id}` }, body.password, record);
  const holds = (user: UserEntry): boolean => user.record.password?.hash === stored;
  const headers = await changeWayIn(request, services, async (replacement) => {
    await services.setPassword(origin, {
      hashed,
      holds,
      replacement,
      removedPasskeys: body.removePasskeys ?? [],
      unlinkedIdentities: body.unlinkIdentities ?? [],
    });
    return true;
  });
  return { status: 204, headers };
});

const passkeyBody = ({ id, name, createdAt }: PasskeyRecord) => ({
  passkeyId: id,
  name,
  createdAt: dateTime(createdAt),
});

/** GET /panel/v1/me/passkeys. */
export const listPasskeys = handleInSession(operations.listPasskeys)(({ signedIn }) => ({
  status: 200,
  body: { passkeys: signedIn.user.record.passkeys.map(passkeyBody) },
}));

/** GET /panel/v1/me/identities. */
export const listIdentities = handleInSession(operations.listIdentities)(({ signedIn }) => ({
  status: 200,
  body: {
    identities: signedIn.user.record.identities.map((identity): operations.LinkedIdentity => ({
      identityId: identityId(identity),
      name: identity.name ?? identity.subject,
      issuer: identity.issuer,
      linkedAt: identity.linkedAt === undefined ? null : dateTime(identity.linkedAt),
    })),
  },
}));

/** POST /panel/v1/me/passkeys/options. */
export const beginPasskey = handleInSession(operations.beginPasskey)(async (request, services) => {
  const { session, user } = request.signedIn;
  const { id: userId, record } = user;
  const { login, name, passkeys } = record;
  const about = { userId, login, name, passkeys: passkeys.map(({ id }) => id) };
  const { challenge, options } = await beginRegistration(placeOf(request.panelOrigin), about);
  const headers = keepFlow(request, services, 'passkey addition', { challenge, sessionId: session.id });
  return { status: 200, headers, body: { options } };
});

/** POST /panel/v1/me/passkeys. */
export const addPasskey = handleInSession(operations.addPasskey)(async (request, services) => {
  const { signedIn, origin, body, cookies } = request;
  const flow = flowOf(request, services, 'passkey addition');
  const made =
    flow?.sessionId === signedIn.session.id
      ? await endRegistration(placeOf(request.panelOrigin), flow.challenge, body.response)
      : undefined;
  if (!made) throw new Refusal('invalid_request', 'response: the passkey does not fit the challenge; begin again.');
  const { id, publicKey, transports } = made;
  const passkey = { id, publicKey, transports, name: body.name, createdAt: origin.at };
  // The browser has just asked for a finger or a PIN: the session is proved by the passkey, and has its second factor.
  const gained = { proof: { by: 'passkey', at: origin.at }, secondFactor: 'passkey' } as const;
  const add = async (replacement: Replacement): Promise<boolean> => {
    await services.passkeys.add(origin, passkey, replacement);
    return true;
  };
  const headers = [...(await changeWayIn(request, services, add, gained)), ...setCookie(cookies, cookies.flow, '', 0)];
  return { status: 201, headers, body: passkeyBody(passkey) };
});

/** DELETE /panel/v1/me/passkeys/{passkeyId}. */
export const removePasskey = handleInSession(operations.removePasskey)(async (request, services) => {
  const { origin, passkeyId } = request;
  const headers = await changeWayIn(request, services, async (replacement) => {
    await services.passkeys.remove(origin, passkeyId, replacement);
    return true;
  });
  return { status: 204, headers };
});
