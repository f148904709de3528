import * as z from 'zod';
import type { UserEntry } from '../../../domain/fleet/reader.ts';
import type { Identity } from '../../../domain/records/user-records.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { isFresh, lacksSecondFactor } from '../../../domain/sessions/proof.ts';
import { hasIdentity } from '../../../domain/users/user-state.ts';
import { mappedRoles } from '../../../domain/users/mapped-roles.ts';
import type { ProviderUser } from '../../../domain/users/provider-users.ts';
import type { Replacement } from '../../../domain/users/replaced-session.ts';
import type { ProviderAnswer } from '../../../oidc/provider-client.ts';
import { ProviderFault } from '../../../oidc/provider-fault.ts';
import { cleanedName } from '../../../text/names.ts';
import type { Answered } from '../../contract/answers.ts';
import * as own from '../../contract/panel/own-sign-in.ts';
import * as proofs from '../../contract/panel/proof.ts';
import * as operations from '../../contract/panel/sign-in.ts';
import { parametersOf } from '../../http/request-headers.ts';
import { chargeAsk } from '../request/admit-password.ts';
import { beginSession } from '../request/begin-session.ts';
import { setCookie } from '../request/cookies.ts';
import { openedInvitation } from '../request/flows.ts';
import { changeWayIn, proveSession } from '../request/renew-session.ts';
import { handleInSession, handleOpen, type OpenRequest, type PanelServices } from '../request/route.ts';
import { FLOW_SECONDS } from '../request/sealed-cookie.ts';
import { REASONS, type Problem } from './provider-problems.ts';
import { providerOf } from './provider-sign-out.ts';

const PURPOSE = 'provider';
const flowSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** Who links his identity; absent for a sign-in. */
  linkedBy: z.string().optional(),
  /** The id of the user who proves who they are; absent elsewhere. */
  provedBy: z.string().optional(),
  /** The session of either: no other one goes on with it. */
  sessionId: z.string().optional(),
  /** The store's revision before the provider was asked; a flow of an earlier version has none. */
  asked: z.int().min(0).default(0),
});
type Flow = z.infer<typeof flowSchema>;
type Purpose = Pick<Flow, 'linkedBy' | 'provedBy' | 'sessionId'>;

/** A redirect of the browser. */
type Onward = Answered<typeof operations.signInByProvider.answers>;

/** On to another page; the flow in the browser is over. */
const onTo = ({ cookies }: OpenRequest<unknown>, path: string, headers: readonly string[] = []): Onward => ({
  status: 303,
  headers: ['Location', path, ...setCookie(cookies, cookies.flow, '', 0), ...headers],
});
/** @param purpose whoever proves who they are comes back to the page that asked for it */
function failedFor(request: OpenRequest<unknown>, problem: Problem, purpose: Purpose = {}, userId?: string): Onward {
  const { provedBy, linkedBy } = purpose;
  const reason = REASONS[problem];
  // Whoever links an identity is signed in, and tries no way in.
  if (reason !== undefined && linkedBy === undefined) {
    request.failed({ credential: 'provider', reason, userId: userId ?? provedBy });
  }
  return onTo(request, `${provedBy === undefined ? '/sign-in' : '/proved'}?problem=${problem}`);
}

async function begun(
  { cookies }: OpenRequest<unknown>,
  services: PanelServices,
  purpose: Purpose = {},
): Promise<{ readonly url: string; readonly headers: readonly string[] }> {
  const asked = await services.fleet.revision();
  const { url, flow } = await providerOf(services).client.begin(purpose.provedBy === undefined ? undefined : 'proof');
  const sealed = services.sealedCookies.seal(PURPOSE, { ...flow, asked, ...purpose });
  return { url, headers: setCookie(cookies, cookies.flow, sealed, FLOW_SECONDS) };
}

/** GET /panel/v1/sign-in/provider. */
export const signInByProvider = handleOpen(operations.signInByProvider, { deadlineMs: LIMITS.providerDeadlineMs })(
  async (request, services) => {
    providerOf(services);
    chargeAsk(request, services, 'provider');
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
);

/** GET /panel/v1/sign-in/provider/callback. */
export const endProviderSignIn = handleOpen(operations.endProviderSignIn, { deadlineMs: LIMITS.providerDeadlineMs })(
  async (request, services) => {
    const { client } = providerOf(services);
    const sealed = request.cookie(request.cookies.flow);
    const opened = flowSchema.safeParse(
      sealed === undefined ? undefined : services.sealedCookies.open(PURPOSE, sealed),
    );
    // An unknown state never reaches the library, and each is good once.
    const flow = opened.data;
    if (!flow || request.query.state !== flow.state) return failedFor(request, 'expired');
    if (!services.spentStates.spend(flow.state)) return failedFor(request, 'expired');
    try {
      const answer = await client.end(parametersOf(request.request), flow);
      return await admitted(request, services, answer, flow);
    } catch (error) {
      if (!(error instanceof ProviderFault)) throw error;
      services.log.info({ err: error }, 'a sign-in at the provider failed');
      return failedFor(request, error.reason === 'unavailable' ? 'provider_unavailable' : 'provider_refused', flow);
    }
  },
);

async function admitted(
  request: OpenRequest<unknown>,
  services: PanelServices,
  answer: ProviderAnswer,
  flow: Flow,
): Promise<Onward> {
  const { settings } = providerOf(services);
  const when = { at: services.clock.now(), asked: flow.asked };
  const mapped = mappedRoles(answer.claims[settings.groupsClaim], settings.groups(), when);
  const identity: Identity = { issuer: answer.issuer, subject: answer.subject };
  if (typeof mapped === 'string') {
    return failedFor(request, mapped, flow, await services.providerUsers.ownerOf(identity));
  }
  const user: ProviderUser = { identity, name: nameOf(answer), mapped };
  if (flow.linkedBy !== undefined) return await linked(request, services, user, flow);
  if (flow.provedBy !== undefined) return await proved(request, services, user, answer, flow);
  return await signedIn(request, services, user, answer);
}

async function linked(
  request: OpenRequest<unknown>,
  services: PanelServices,
  user: ProviderUser,
  flow: Purpose,
): Promise<Onward> {
  const session = await request.optionalSession();
  if (!session || session.session.id !== flow.sessionId) return failedFor(request, 'expired', flow);
  if (await lacksSecondFactor(session, services.panel.secondFactor)) {
    return failedFor(request, 'second_factor_required', flow);
  }
  const { proof } = session.session.record;
  if (!proof || !isFresh(proof.at, services.clock.now())) return failedFor(request, 'proof_required', flow);
  const origin = request.userOrigin(session);
  let outcome: 'linked' | Problem = 'linked';
  const headers = await changeWayIn({ signedIn: session, origin, cookies: request.cookies }, services, async (next) => {
    outcome = await services.providerUsers.link(origin, user, next);
    return outcome === 'linked';
  });
  return outcome === 'linked' ? onTo(request, '/me', headers) : failedFor(request, outcome, flow);
}

/**
 * The user has signed in at the provider once more: as the one who is signed in here, and a moment ago. The provider's
 * answer counts as that to a sign-in: its roles are taken over, and its refresh token is the newest.
 */
async function proved(
  request: OpenRequest<unknown>,
  services: PanelServices,
  { identity, mapped }: ProviderUser,
  { sid, refreshToken, authenticatedAt, methods }: ProviderAnswer,
  flow: Purpose,
): Promise<Onward> {
  const signedIn = await request.optionalSession();
  if (!signedIn || signedIn.session.id !== flow.sessionId) return failedFor(request, 'expired', flow);
  const isHis = ({ record }: UserEntry): boolean => hasIdentity(record, identity);
  if (!isHis(signedIn.user)) return failedFor(request, 'other_identity', flow);
  const proof = proofAt(authenticatedAt, services.clock.now());
  if (!proof) return failedFor(request, 'proof_missing', flow);
  const origin = request.userOrigin(signedIn);
  await services.providerUsers.renew(origin, signedIn.user.id, { identity, mapped });
  const own = signedIn.session.record.identity;
  const isOwn = own !== undefined && own.issuer === identity.issuer && own.subject === identity.subject;
  const gained = {
    ...proof,
    ...secondFactorOf(methods, services),
    ...(isOwn && sid !== undefined && { identity: { ...own, sid } }),
  };
  const given = isOwn ? refreshToken : undefined;
  const proving = { signedIn, origin, cookies: request.cookies };
  try {
    const headers = await proveSession(proving, services, gained, isHis, given);
    return { status: 303, headers: ['Location', '/proved', ...headers] };
  } catch (error) {
    // A person without any role has no session any more.
    if (error instanceof Refusal && error.code === 'invalid_session') return failedFor(request, 'expired', flow);
    throw error;
  }
}

/** The proof of an answer that says when the user signed in; undefined where it does not, or that was too long ago. */
function proofAt(at: number | undefined, now: number): { readonly at: number; readonly by: 'provider' } | undefined {
  if (at === undefined || !isFresh(at, now)) return undefined;
  // The provider's clock may be ahead, and no proof lasts longer for it.
  return { at: Math.min(at, now), by: 'provider' };
}

/** Reads a second factor from `amr`: the installation has told which of its values say so. */
function secondFactorOf(methods: readonly string[], services: PanelServices): { readonly secondFactor?: 'provider' } {
  const { secondFactor } = providerOf(services).settings;
  return methods.some((method) => secondFactor.includes(method)) ? { secondFactor: 'provider' } : {};
}

async function signedIn(
  request: OpenRequest<unknown>,
  services: PanelServices,
  user: ProviderUser,
  { sid, refreshToken, authenticatedAt, methods }: ProviderAnswer,
): Promise<Onward> {
  try {
    const welcome = {
      everybody: providerOf(services).settings.newcomers === 'all',
      invitation: openedInvitation(request, services),
    };
    const admitted = await services.providerUsers.admit(request.originOf, user, welcome);
    if (admitted === 'no_role') return failedFor(request, 'no_role');
    const { id } = admitted;
    const identity = { ...user.identity, ...(sid !== undefined && { sid }) };
    const proof = proofAt(authenticatedAt, services.clock.now());
    const headers = await beginSession(
      request,
      services,
      { userId: id, method: 'provider', identity, ...(proof && { proof }), ...secondFactorOf(methods, services) },
      ({ record }) => hasIdentity(record, user.identity),
      async (sessionId) => {
        if (refreshToken) await services.refreshTokens.keep(sessionId, refreshToken);
      },
    );
    return { status: 303, headers: ['Location', '/', ...headers] };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const problem = error.code === 'conflict' ? 'too_many' : error.code === 'forbidden' ? 'disabled' : 'expired';
    return failedFor(request, problem, {}, await services.providerUsers.ownerOf(user.identity));
  }
}

/** The name by which others see a new user. */
function nameOf({ claims, subject }: ProviderAnswer): string {
  const named = [claims['name'], claims['preferred_username'], claims['email'], subject];
  const clean = (name: unknown): string =>
    typeof name === 'string' ? cleanedName(Array.from(name).slice(0, LIMITS.userNameCodePointsMax).join('')) : '';
  return named.map(clean).find((name) => name !== '') ?? 'A user of the provider';
}

/** POST /panel/v1/me/provider. */
export const linkProvider = handleInSession(own.linkProvider, { deadlineMs: LIMITS.providerDeadlineMs })(async (
  request,
  services,
) => {
  const home = services.panel.url;
  if (request.panelOrigin !== home) throw new Refusal('invalid_request', `Open the panel at ${home} for this.`);
  try {
    const { user, session } = request.signedIn;
    const { url, headers } = await begun(request, services, { linkedBy: user.id, sessionId: session.id });
    return { status: 200, headers, body: { url } };
  } catch (error) {
    if (error instanceof ProviderFault) throw new Refusal('invalid_request', 'The provider does not answer now.');
    throw error;
  }
});

/** GET /panel/v1/me/proof/provider. */
export const proveByProvider = handleInSession(proofs.proveByProvider, { deadlineMs: LIMITS.providerDeadlineMs })(
  async (request, services) => {
    const { user, session } = request.signedIn;
    const purpose = { provedBy: user.id, sessionId: session.id };
    try {
      const { url, headers } = await begun(request, services, purpose);
      return { status: 303, headers: ['Location', url, ...headers] };
    } catch (error) {
      if (error instanceof ProviderFault) return failedFor(request, 'provider_unavailable', purpose);
      throw error;
    }
  },
);

/** DELETE /panel/v1/me/provider. */
export const unlinkProvider = handleInSession(own.unlinkProvider)(async (request, services) => {
  const unlink = (replacement: Replacement): Promise<boolean> =>
    services.providerUsers.unlink(request.origin, replacement);
  return { status: 204, headers: await changeWayIn(request, services, unlink) };
});
