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

/**
 * POST /panel/v1/sign-in/provider/back-channel-logout: the provider itself calls it. A logout says nothing of whether
 * the person is still there: that is asked next.
 */
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
  { fleet, departures }: PanelServices,
  out: LoggedOut,
): Promise<void> {
  const memory = await fleet.whole();
  for (const { id: userId } of memory.users()) {
    const meant = memory.sessionsOf(userId).filter(({ record }) => isMeant(out, record.identity));
    const ids = new Set(meant.map(({ id }) => id));
    if (ids.size > 0) await departures.endSessions(originOf('muster'), userId, ids, out.isRevoked);
  }
}
