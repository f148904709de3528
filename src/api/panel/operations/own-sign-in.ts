import type { UserEntry } from '../../../domain/fleet/reader.ts';
import type { PasskeyRecord } from '../../../domain/records/user-records.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { identityId } from '../../../domain/users/user-state.ts';
import { dateTime } from '../../../time/date-time.ts';
import { beginRegistration, endRegistration, placeOf } from '../../../webauthn/webauthn.ts';
import * as operations from '../../contract/panel/own-sign-in.ts';
import { comparePassword } from '../request/compare-password.ts';
import { keepFlow, takeFlow } from '../request/flows.ts';
import { hashedPassword } from '../request/new-password.ts';
import { proveSession } from '../request/renew-session.ts';
import { panelRoute } from '../request/route.ts';

const WRONG_CURRENT = 'current: this is not the password so far.';

/** PUT /panel/v1/me/password. All other sessions end with it. */
export const changePassword = panelRoute(operations.changePassword, async (request, services) => {
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
  await services.setPassword(origin, {
    userId: id,
    hashed,
    holds,
    keptSession: signedIn.session.id,
    removedPasskeys: body.removePasskeys ?? [],
    unlinkedIdentities: body.unlinkIdentities ?? [],
  });
  return { status: 204 };
});

const passkeyBody = ({ id, name, createdAt }: PasskeyRecord) => ({
  passkeyId: id,
  name,
  createdAt: dateTime(createdAt),
});

/** GET /panel/v1/me/passkeys. */
export const listPasskeys = panelRoute(operations.listPasskeys, ({ signedIn }) => ({
  status: 200,
  body: { passkeys: signedIn.user.record.passkeys.map(passkeyBody) },
}));

/** GET /panel/v1/me/identities. */
export const listIdentities = panelRoute(operations.listIdentities, ({ signedIn }) => ({
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
export const beginPasskey = panelRoute(operations.beginPasskey, async (request, services) => {
  const { id: userId, record } = request.signedIn.user;
  const { login, name, passkeys } = record;
  const about = { userId, login, name, passkeys: passkeys.map(({ id }) => id) };
  const { challenge, options } = await beginRegistration(placeOf(request.panelOrigin), about);
  const headers = keepFlow(request, services, 'passkey addition', { challenge, userId });
  return { status: 200, headers, body: { options } };
});

/** POST /panel/v1/me/passkeys. */
export const addPasskey = panelRoute(operations.addPasskey, async (request, services) => {
  const { signedIn, origin, body } = request;
  const flow = takeFlow(request, services, 'passkey addition');
  const made =
    flow?.userId === signedIn.user.id
      ? await endRegistration(placeOf(request.panelOrigin), flow.challenge, body.response)
      : undefined;
  if (!made) throw new Refusal('invalid_request', 'response: the passkey does not fit the challenge; begin again.');
  const { id, publicKey, transports } = made;
  const passkey = { id, publicKey, transports, name: body.name, createdAt: origin.at };
  await services.passkeys.add(origin, signedIn.user.id, passkey);
  // The browser has just asked for a finger or a PIN: the session is proved by the passkey, and has its second factor.
  const proof = { by: 'passkey', at: origin.at, secondFactor: 'passkey' } as const;
  const holds = (user: UserEntry): boolean => user.record.passkeys.some((one) => one.id === id);
  return { status: 201, headers: await proveSession(request, services, proof, holds), body: passkeyBody(passkey) };
});

/** DELETE /panel/v1/me/passkeys/{passkeyId}. */
export const removePasskey = panelRoute(
  operations.removePasskey,
  async ({ origin, signedIn, passkeyId }, { passkeys }) => {
    await passkeys.remove(origin, signedIn.user.id, passkeyId);
    return { status: 204 };
  },
);
