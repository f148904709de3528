import type { AttemptReason, SignInWay } from '../../../domain/access-audit/failed-attempts.ts';
import { Secret } from '../../../domain/credentials/secret.ts';
import { tokenHash } from '../../../domain/credentials/tokens.ts';
import type { UserEntry } from '../../../domain/fleet/reader.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { beginAuthentication, endAuthentication, placeOf } from '../../../webauthn/webauthn.ts';
import type { Answered } from '../../contract/answers.ts';
import * as operations from '../../contract/panel/sign-in.ts';
import { NotAuthenticated } from '../../http/errors.ts';
import { admitSignIn, chargeAsk, failedAttempt } from '../request/admit-password.ts';
import { beginSession } from '../request/begin-session.ts';
import { keepFlow, flowOf } from '../request/flows.ts';
import { handleOpen, type OpenRequest, type PanelServices } from '../request/route.ts';

/** GET /panel/v1/sign-in. */
export const readSignIn = handleOpen(operations.readSignIn)((_request, { panel }) => ({
  status: 200,
  body: { password: panel.passwords, ...(panel.provider && { provider: panel.provider.name }) },
}));

/** A sign-in that failed: the audit, the metrics and the log have the user, and nothing of what was typed. */
const refused = (credential: SignInWay, reason: AttemptReason, user?: UserEntry, says?: string): NotAuthenticated =>
  new NotAuthenticated('sign_in_failed', { credential, reason, userId: user?.id }, says);

/** POST /panel/v1/sign-in/password. A wrong name and a wrong password cannot be told apart, not even by their time. */
export const signInByPassword = handleOpen(operations.signInByPassword)(async (request, services) => {
  const { panel, users } = services;
  if (!panel.passwords) throw new Refusal('invalid_request', 'Nobody signs in with a password here.');
  const { login, password } = request.body;
  const user = await users.byLogin(login);
  using attempt = await admitSignIn(request, services, login, user);
  const stored = user?.record.password?.hash;
  const isRight = await attempt.matches(new Secret(password), stored);
  if (!isRight || !user || user.record.disabled || stored === undefined) {
    throw refused('password', user ? (isRight ? 'disabled' : 'wrong_secret') : 'unknown', user);
  }
  attempt.takeBack();
  if (user.record.passkeys.length > 0) return await askForPasskey(request, services, user, stored);
  const holds = ({ record }: UserEntry): boolean => record.password?.hash === stored;
  const proof = { at: services.clock.now(), by: 'password' } as const;
  const headers = await beginSession(request, services, { userId: user.id, method: 'password', proof }, holds);
  return { status: 200, headers, body: { next: 'signed-in' } };
});

/** The second step: the password was right, and the user has a passkey. */
async function askForPasskey(
  request: OpenRequest<unknown>,
  services: PanelServices,
  { id: userId, record }: UserEntry,
  hashed: string,
): Promise<Answered<typeof operations.signInByPassword.answers>> {
  const allowed = record.passkeys.map(({ id }) => id);
  const { challenge, options } = await beginAuthentication(placeOf(request.panelOrigin), allowed);
  const headers = keepFlow(request, services, 'passkey sign-in', { challenge, userId, hashed: tokenHash(hashed) });
  return { status: 200, headers, body: { next: 'passkey', options } };
}

/** POST /panel/v1/sign-in/passkey/options. */
export const beginPasskeySignIn = handleOpen(operations.beginPasskeySignIn)(async (request, services) => {
  chargeAsk(request, services, 'challenge');
  const { challenge, options } = await beginAuthentication(placeOf(request.panelOrigin));
  return { status: 200, headers: keepFlow(request, services, 'passkey sign-in', { challenge }), body: { options } };
});

const NO_PASSKEY = 'The passkey was not accepted: it is not known here, or the sign-in took too long. Begin again.';

/** POST /panel/v1/sign-in/passkey. A right passkey waits for no failures of others behind the same address. */
export const signInByPasskey = handleOpen(operations.signInByPasskey)(async (request, services) => {
  chargeAsk(request, services, 'passkey');
  const { response } = request.body;
  const flow = flowOf(request, services, 'passkey sign-in');
  const passkeyId = typeof response['id'] === 'string' ? response['id'] : '';
  const user = flow && passkeyId !== '' ? await services.passkeys.userOf(passkeyId) : undefined;
  const known = user?.record.passkeys.find(({ id }) => id === passkeyId);
  const failed = (reason: AttemptReason): NotAuthenticated =>
    failedAttempt(request, services, 'passkey', refused('passkey', reason, user, NO_PASSKEY));
  if (!flow) throw failed('expired');
  if (!user || !known) throw failed('unknown');
  if (user.record.disabled) throw failed('disabled');
  if (flow.userId !== undefined && flow.userId !== user.id) throw failed('wrong_secret');
  const counter = await endAuthentication(placeOf(request.panelOrigin), flow.challenge, response, known);
  if (counter === undefined) throw failed('wrong_secret');
  const answer = { passkeyId, challenge: flow.challenge, counter };
  if (!(await services.signIns.browsers.spendAnswer(user, answer))) throw failed('wrong_secret');
  const holds = ({ record }: UserEntry): boolean =>
    record.passkeys.some(({ id }) => id === passkeyId) &&
    (flow.hashed === undefined || tokenHash(record.password?.hash ?? '') === flow.hashed);
  const session = {
    userId: user.id,
    method: 'passkey',
    proof: { at: services.clock.now(), by: 'passkey' },
    secondFactor: 'passkey',
  } as const;
  const headers = await beginSession(request, services, session, holds);
  return { status: 200, headers, body: { next: 'signed-in' } };
});
