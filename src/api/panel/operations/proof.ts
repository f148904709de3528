import type { AttemptReason } from '../../../domain/access-audit/failed-attempts.ts';
import type { UserEntry } from '../../../domain/fleet/reader.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { beginAuthentication, endAuthentication, placeOf } from '../../../webauthn/webauthn.ts';
import * as operations from '../../contract/panel/proof.ts';
import { NotAuthenticated } from '../../http/errors.ts';
import { comparePassword } from '../request/compare-password.ts';
import { keepFlow, flowOf } from '../request/flows.ts';
import { proveSession } from '../request/renew-session.ts';
import { handleInSession } from '../request/route.ts';

/** GET /panel/v1/me/proof: its own demand of a fresh proof answers it. */
export const readProof = handleInSession(operations.readProof)(() => ({ status: 204 }));

/** POST /panel/v1/me/proof/password. What a sign-in would ask for: the password alone is none beside a passkey. */
export const proveByPassword = handleInSession(operations.proveByPassword)(async (request, services) => {
  const { signedIn, origin, body } = request;
  const { passkeys, password } = signedIn.user.record;
  if (passkeys.length > 0) throw new Refusal('conflict', 'You have a passkey: prove by that.');
  if (!services.panel.passwords || password === undefined) throw new Refusal('conflict', 'You have no password.');
  await comparePassword(request, services, signedIn.user, body.password);
  const holds = ({ record }: UserEntry): boolean =>
    record.password?.hash === password.hash && record.passkeys.length === 0;
  return { status: 204, headers: await proveSession(request, services, { by: 'password', at: origin.at }, holds) };
});

/** POST /panel/v1/me/proof/passkey/options. */
export const beginPasskeyProof = handleInSession(operations.beginPasskeyProof)(async (request, services) => {
  const { session, user } = request.signedIn;
  const allowed = user.record.passkeys.map(({ id }) => id);
  // Without names the browser would offer the passkeys of everybody who uses it.
  if (allowed.length === 0) throw new Refusal('conflict', 'You have no passkey.');
  const { challenge, options } = await beginAuthentication(placeOf(request.panelOrigin), allowed);
  return {
    status: 200,
    headers: keepFlow(request, services, 'passkey proof', { challenge, sessionId: session.id }),
    body: { options },
  };
});

const NOT_ACCEPTED = 'The passkey was not accepted: it is none of yours, or it took too long. Begin again.';

/** POST /panel/v1/me/proof/passkey. */
export const proveByPasskey = handleInSession(operations.proveByPasskey)(async (request, services) => {
  const { signedIn, origin, body } = request;
  const { user } = signedIn;
  const flow = flowOf(request, services, 'passkey proof');
  const known = user.record.passkeys.find(({ id }) => id === body.response['id']);
  const failed = (reason: AttemptReason): NotAuthenticated =>
    new NotAuthenticated('sign_in_failed', { credential: 'passkey', reason, userId: user.id }, NOT_ACCEPTED);
  if (!known) throw failed('unknown');
  if (flow?.sessionId !== signedIn.session.id) throw failed('expired');
  const counter = await endAuthentication(placeOf(request.panelOrigin), flow.challenge, body.response, known);
  if (counter === undefined) throw failed('wrong_secret');
  const answer = { passkeyId: known.id, challenge: flow.challenge, counter };
  if (!(await services.signIns.browsers.spendAnswer(user, answer))) throw failed('wrong_secret');
  const holds = ({ record }: UserEntry): boolean => record.passkeys.some(({ id }) => id === known.id);
  const proof = { by: 'passkey', at: origin.at, secondFactor: 'passkey' } as const;
  return { status: 204, headers: await proveSession(request, services, proof, holds) };
});
