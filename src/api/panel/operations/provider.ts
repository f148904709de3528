import * as z from 'zod';
import type { Identity, SessionRecord } from '../../../domain/records/user-records.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { mappedRoles } from '../../../domain/users/mapped-roles.ts';
import type { ProviderUser } from '../../../domain/users/provider-users.ts';
import type { ProviderAnswer } from '../../../oidc/provider-client.ts';
import type { LoggedOut } from '../../../oidc/logout-tokens.ts';
import { ProviderFault } from '../../../oidc/provider-fault.ts';
import * as own from '../../contract/panel/own-sign-in.ts';
import * as operations from '../../contract/panel/sign-in.ts';
import { HttpRefusal, type Reply } from '../../http/exchange.ts';
import { beginSession } from '../request/begin-session.ts';
import { setCookie } from '../request/cookies.ts';
import { openRoute, panelRoute, type OpenRequest, type PanelServices, type SignInProvider } from '../request/route.ts';
import { FLOW_SECONDS } from '../request/sealed-cookie.ts';
import { chargeAddress } from './sign-in.ts';

const PURPOSE = 'provider';
const flowSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** Who links his identity; absent for a sign-in. */
  linkedBy: z.string().optional(),
  /** The store's revision before the provider was asked; a flow of an earlier version has none. */
  asked: z.int().min(0).default(0),
});

/** Why a sign-in failed, as the sign-in page explains it. */
type Problem =
  | 'provider_unavailable'
  | 'provider_refused'
  | 'expired'
  | 'groups_missing'
  | 'groups_too_many'
  | 'disabled'
  | 'already_linked'
  | 'too_many';

/** @throws Refusal `not_found` where this installation has none */
function providerOf({ provider }: PanelServices): SignInProvider {
  if (!provider) throw new Refusal('not_found', 'Nobody signs in at a provider here.');
  return provider;
}

/** On to another page; the flow in the browser is over. */
const onTo = ({ cookies }: OpenRequest<unknown>, path: string, headers: readonly string[] = []): Reply => ({
  status: 303,
  headers: ['Location', path, ...setCookie(cookies, cookies.flow, '', 0), ...headers],
});
const failedFor = (request: OpenRequest<unknown>, problem: Problem): Reply =>
  onTo(request, `/sign-in?problem=${problem}`);

async function begun(
  { cookies }: OpenRequest<unknown>,
  services: PanelServices,
  linkedBy?: string,
): Promise<{ readonly url: string; readonly headers: readonly string[] }> {
  const asked = await services.fleet.revision();
  const { url, flow } = await providerOf(services).client.begin();
  const sealed = services.sealedCookies.seal(PURPOSE, { ...flow, asked, ...(linkedBy !== undefined && { linkedBy }) });
  return { url, headers: setCookie(cookies, cookies.flow, sealed, FLOW_SECONDS) };
}

/** GET /panel/v1/sign-in/provider. */
export const signInByProvider = openRoute(
  operations.signInByProvider,
  async (request, services) => {
    providerOf(services);
    // The provider sends the browser back to the panel's own address: the cookie of the flow must be there.
    const home = services.panel.url;
    if (request.panelOrigin !== home) return onTo(request, home + operations.signInByProvider.path);
    try {
      const { url, headers } = await begun(request, services);
      return { status: 303, headers: ['Location', url, ...headers] };
    } catch (error) {
      if (error instanceof ProviderFault) return failedFor(request, 'provider_unavailable');
      throw error;
    }
  },
  { deadlineMs: LIMITS.providerDeadlineMs },
);

/** GET /panel/v1/sign-in/provider/callback. */
export const endProviderSignIn = openRoute(
  operations.endProviderSignIn,
  async (request, services) => {
    chargeAddress(request, services);
    const { client } = providerOf(services);
    const sealed = request.cookie(request.cookies.flow);
    const opened = flowSchema.safeParse(
      sealed === undefined ? undefined : services.sealedCookies.open(PURPOSE, sealed),
    );
    // An unknown state never reaches the library, and each is good once.
    const flow = opened.data;
    if (!flow || request.query.get('state') !== flow.state) return failedFor(request, 'expired');
    if (!services.spentChallenges.spend(flow.state)) return failedFor(request, 'expired');
    try {
      const answer = await client.end(request.query, flow);
      return await admitted(request, services, answer, flow);
    } catch (error) {
      if (!(error instanceof ProviderFault)) throw error;
      services.log.info({ err: error }, 'a sign-in at the provider failed');
      return failedFor(request, error.reason === 'unavailable' ? 'provider_unavailable' : 'provider_refused');
    }
  },
  { deadlineMs: LIMITS.providerDeadlineMs },
);

async function admitted(
  request: OpenRequest<unknown>,
  services: PanelServices,
  answer: ProviderAnswer,
  { linkedBy, asked }: z.infer<typeof flowSchema>,
): Promise<Reply> {
  const { settings } = providerOf(services);
  const when = { at: services.clock.now(), asked };
  const mapped = mappedRoles(answer.claims[settings.groupsClaim], settings.groups, when);
  if (typeof mapped === 'string') return failedFor(request, mapped);
  const identity: Identity = { issuer: answer.issuer, subject: answer.subject };
  const user: ProviderUser = { identity, name: nameOf(answer), mapped };
  if (linkedBy !== undefined) return await linked(request, services, user, linkedBy);
  return await signedIn(request, services, user, answer);
}

async function linked(
  request: OpenRequest<unknown>,
  services: PanelServices,
  user: ProviderUser,
  linkedBy: string,
): Promise<Reply> {
  const session = await request.optionalSession();
  if (session?.user.id !== linkedBy) return failedFor(request, 'expired');
  const outcome = await services.providerUsers.link(request.userOrigin(session), linkedBy, user);
  return outcome === 'linked' ? onTo(request, '/me') : failedFor(request, outcome);
}

async function signedIn(
  request: OpenRequest<unknown>,
  services: PanelServices,
  user: ProviderUser,
  { sid, refreshToken }: ProviderAnswer,
): Promise<Reply> {
  try {
    const { id } = await services.providerUsers.admit(request.originOf, user);
    const identity = { ...user.identity, ...(sid !== undefined && { sid }) };
    const isHis = (one: Identity): boolean =>
      one.issuer === user.identity.issuer && one.subject === user.identity.subject;
    const headers = await beginSession(
      request,
      services,
      { userId: id, method: 'provider', identity },
      ({ record }) => record.identities.some(isHis),
      async (sessionId) => {
        if (refreshToken) await services.refreshTokens.keep(sessionId, refreshToken);
      },
    );
    return { status: 303, headers: ['Location', '/', ...headers] };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return failedFor(request, error.code === 'conflict' ? 'too_many' : 'disabled');
  }
}

/** The name by which others see a new user. */
function nameOf({ claims, subject }: ProviderAnswer): string {
  const named = [claims['name'], claims['preferred_username'], claims['email'], subject];
  const text = named.find((name): name is string => typeof name === 'string' && name.trim() !== '') ?? subject;
  return Array.from(text.toWellFormed().trim()).slice(0, LIMITS.userNameCodePointsMax).join('');
}

/** POST /panel/v1/sign-in/provider/back-channel-logout: the provider itself calls it. */
export const signOutByProvider = openRoute(
  operations.signOutByProvider,
  async (request, services) => {
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
  },
  { foreign: true, deadlineMs: LIMITS.providerDeadlineMs },
);

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

/** POST /panel/v1/me/provider. */
export const linkProvider = panelRoute(
  own.linkProvider,
  async (request, services) => {
    const home = services.panel.url;
    if (request.panelOrigin !== home) throw new Refusal('invalid_request', `Open the panel at ${home} for this.`);
    try {
      const { url, headers } = await begun(request, services, request.signedIn.user.id);
      return { status: 200, headers, body: { url } };
    } catch (error) {
      if (error instanceof ProviderFault) throw new Refusal('invalid_request', 'The provider does not answer now.');
      throw error;
    }
  },
  LIMITS.providerDeadlineMs,
);

/** DELETE /panel/v1/me/provider. */
export const unlinkProvider = panelRoute(own.unlinkProvider, async ({ origin, signedIn }, { providerUsers }) => {
  await providerUsers.unlink(origin, signedIn.user.id);
  return { status: 204 };
});
