import type { Secret } from '../../../domain/credentials/secret.ts';
import type { UserEntry } from '../../../domain/fleet/reader.ts';
import type { Origin } from '../../../domain/mutation/step.ts';
import type { ProofWay, SessionRecord } from '../../../domain/records/user-records.ts';
import type { SignedIn } from '../../../domain/sessions/sessions.ts';
import type { Replacement } from '../../../domain/users/replaced-session.ts';
import { HttpRefusal } from '../../http/errors.ts';
import { setCookie, type CookieNames } from './cookies.ts';
import type { PanelServices } from './route.ts';

/** A session in the place of the request's own. */
interface RenewedSession {
  readonly token: Secret;
  readonly sessionId: string;
  /** How long it lasts still. */
  readonly seconds: number;
}

/** The session that is renewed, and the origin of that change. */
interface Renewing {
  readonly signedIn: SignedIn;
  readonly origin: Origin;
}

type Services = Pick<PanelServices, 'sessions' | 'refreshTokens'>;
type Gained = Pick<SessionRecord, 'proof' | 'secondFactor' | 'identity'>;

/**
 * Draws a session for the place of the request's own, with the same end.
 * @param gained what it has beside what that one has
 * @param commit begins it, with what makes that necessary; false where nothing was changed
 * @param given a refresh token that the provider gave a moment ago: it takes the place of the one that the session has
 * @returns undefined where a replica renews the roles right now, by a token that must not get lost: it may be tried
 * again; `unchanged` as `commit` says
 * @throws whatever `commit` throws; StoreUnavailable
 */
async function replaced(
  { signedIn, origin }: Renewing,
  { sessions, refreshTokens }: Services,
  gained: Gained,
  commit: (replacement: Replacement) => Promise<boolean>,
  given?: Secret,
): Promise<RenewedSession | 'unchanged' | undefined> {
  const { user, session } = signedIn;
  const { createdAt: _begun, expiresAt, ...kept } = session.record;
  const drawn = sessions.draw({ ...kept, ...gained, userId: user.id }, origin.at);
  const next = { ...drawn, record: { ...drawn.record, expiresAt } };
  // The provider's refresh token goes with the session, and the record of the old one goes with that.
  const claimed = kept.method === 'provider' ? await refreshTokens.claim(session.id, origin.at) : 'none';
  if (claimed === 'busy') return undefined;
  if (!(await commit({ session: next, replaced: session.id }))) return 'unchanged';
  const token = given ?? (claimed === 'none' ? undefined : claimed.token);
  if (token && kept.method === 'provider') await refreshTokens.keep(next.sessionId, token);
  return { token: next.token, sessionId: next.sessionId, seconds: Math.ceil((expiresAt - origin.at) / 1000) };
}

/**
 * Begins a session in the place of the request's own, with the same end.
 * @param gained what it has beside what that one has
 * @param given a refresh token that takes the place of the one that the session has
 * @param holds whether the user, as the commit reads them, is still the one who was judged
 * @returns undefined where a replica renews the roles right now: it may be tried again
 * @throws Refusal `sign_in_failed` where it does not hold, `invalid_session`; StoreUnavailable; Busy
 */
export async function renewSession(
  request: Renewing,
  services: Services,
  gained: Gained = {},
  holds: (user: UserEntry) => boolean = () => true,
  given?: Secret,
): Promise<RenewedSession | undefined> {
  const beginning = async ({ session, replaced: former }: Replacement): Promise<boolean> => {
    await services.sessions.begin(request.origin, session, holds, former);
    return true;
  };
  const renewed = await replaced(request, services, gained, beginning, given);
  return renewed === 'unchanged' ? undefined : renewed;
}

/**
 * Makes a change of the user's ways in: whoever makes it goes on under another token, and a copy of the cookie is
 * refused from the same commit on (A18).
 * @param change commits it with the session that takes the place of the request's own; false where there was nothing to
 * change
 * @param gained what that one has beside
 * @returns the headers that give the browser the session
 * @throws whatever `change` throws; HttpRefusal `overloaded`; StoreUnavailable
 */
export async function changeWayIn(
  request: Renewing & { readonly cookies: CookieNames },
  services: Services,
  change: (replacement: Replacement) => Promise<boolean>,
  gained: Gained = {},
): Promise<readonly string[]> {
  const renewed = await replaced(request, services, gained, change);
  if (!renewed) throw new HttpRefusal('overloaded');
  return renewed === 'unchanged' ? [] : renewedCookie(request.cookies, renewed);
}

/** The header that gives the browser a renewed session. */
export const renewedCookie = (cookies: CookieNames, { token, seconds }: RenewedSession): readonly [string, string] =>
  setCookie(cookies, cookies.session, token, seconds);

/**
 * Proves the session of a request: the session that takes its place carries the proof.
 * @param proof when the user proved it, in milliseconds since 1970, and what the session has by it
 * @param given the refresh token that the provider gave with the proof
 * @param holds whether the user, as the commit reads them, is still the one who proved it
 * @returns the headers that give the browser the session
 * @throws Refusal `sign_in_failed`, `invalid_session`; HttpRefusal `overloaded`; StoreUnavailable; Busy
 */
export async function proveSession(
  request: Renewing & { readonly cookies: CookieNames },
  services: Services,
  proof: { readonly by: ProofWay; readonly at: number } & Omit<Gained, 'proof'>,
  holds: (user: UserEntry) => boolean,
  given?: Secret,
): Promise<readonly string[]> {
  const { by, at, ...gained } = proof;
  const renewed = await renewSession(request, services, { ...gained, proof: { at, by } }, holds, given);
  if (!renewed) throw new HttpRefusal('overloaded');
  const { cookies } = request;
  return [...renewedCookie(cookies, renewed), ...setCookie(cookies, cookies.flow, '', 0)];
}
