import type { SessionRecord } from '../../../domain/records/user-records.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { LoggedOut } from '../../../oidc/logout-tokens.ts';
import { ProviderFault } from '../../../oidc/provider-fault.ts';
import * as operations from '../../contract/panel/sign-in.ts';
import { HttpRefusal } from '../../http/errors.ts';
import { handleOpen, type OpenRequest, type PanelServices, type SignInProvider } from '../request/route.ts';

/** @throws Refusal `not_found` where this installation has none */
export function providerOf({ provider }: PanelServices): SignInProvider {
  if (!provider) throw new Refusal('not_found', 'Nobody signs in at a provider here.');
  return provider;
}

/** POST /panel/v1/sign-in/provider/back-channel-logout: the provider itself calls it. */
export const signOutByProvider = handleOpen(operations.signOutByProvider, {
  foreign: true,
  deadlineMs: LIMITS.providerDeadlineMs,
})(async (request, services) => {
  const { client } = providerOf(services);
  const [token, ...others] = (await request.form()).getAll('logout_token');
  if (token === undefined || others.length > 0) {
    throw new Refusal('invalid_request', 'A form with one logout_token is needed.');
  }
  const out = await client.readLogoutToken(token).catch((error: unknown) => {
    services.log.info({ err: error }, 'a logout token of the provider is refused');
    if (error instanceof ProviderFault && error.reason === 'unavailable') throw new HttpRefusal('overloaded');
    throw new Refusal('invalid_request', 'The logout_token is not valid.');
  });
  await request.inTime(endSessionsOf(request, services, out));
  return { status: 200, body: {} };
});

/** A session whose `sid` the provider did not tell is told by the subject. */
function isMeant({ issuer, subject, sid }: LoggedOut, own: SessionRecord['identity']): boolean {
  if (own?.issuer !== issuer) return false;
  const isSubject = own.subject === subject;
  if (sid === undefined) return isSubject;
  return own.sid === undefined ? isSubject : own.sid === sid && (subject === undefined || isSubject);
}

async function endSessionsOf(
  { originOf }: OpenRequest<unknown>,
  { fleet, sessions }: PanelServices,
  out: LoggedOut,
): Promise<void> {
  const memory = await fleet.whole();
  const meant = Array.from(memory.users()).flatMap(({ id }) =>
    memory.sessionsOf(id).filter(({ record }) => isMeant(out, record.identity)),
  );
  for (const { id, record } of meant) {
    await sessions.end(originOf('muster'), record.userId, id).catch((error: unknown) => {
      // It has ended meanwhile.
      if (!(error instanceof Refusal)) throw error;
    });
  }
}
