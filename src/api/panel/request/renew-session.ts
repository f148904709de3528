import type { Secret } from '../../../domain/credentials/secret.ts';
import type { UserEntry } from '../../../domain/fleet/reader.ts';
import type { Origin } from '../../../domain/mutation/step.ts';
import type { ProofWay, SessionRecord } from '../../../domain/records/user-records.ts';
import type { SignedIn } from '../../../domain/sessions/sessions.ts';
import { HttpRefusal } from '../../http/exchange.ts';
import { setCookie, type CookieNames } from './cookies.ts';
import type { PanelServices } from './route.ts';

/** A session in the place of the request's own. */
export interface RenewedSession {
  readonly token: Secret;
  readonly sessionId: string;
  /** How long it lasts still. */
  readonly seconds: number;
}

/** The session that is renewed, and the origin of that change. */
export interface Renewing {
  readonly signedIn: SignedIn;
  readonly origin: Origin;
}

/**
 * Begins a session in the place of the request's own, with the same end.
 * @param gained what it has beside what that one has
 * @param holds whether the user, as the commit reads them, is still the one who was judged
 * @returns undefined where a replica renews the roles right now, by a token that must not get lost: it may be tried again
 * @throws Refusal `sign_in_failed` where it does not hold, `invalid_session`; StoreUnavailable; Busy
 */
export async function renewSession(
  { signedIn, origin }: Renewing,
  { sessions, refreshTokens }: Pick<PanelServices, 'sessions' | 'refreshTokens'>,
  gained: Pick<SessionRecord, 'proof' | 'secondFactor'> = {},
  holds: (user: UserEntry) => boolean = () => true,
): Promise<RenewedSession | undefined> {
  const { user, session } = signedIn;
  const { createdAt: _begun, expiresAt, ...kept } = session.record;
  const drawn = sessions.draw({ ...kept, ...gained, userId: user.id }, origin.at);
  const next = { ...drawn, record: { ...drawn.record, expiresAt } };
  // The provider's refresh token goes with the session, and the record of the old one goes with that.
  const claimed = kept.method === 'provider' ? await refreshTokens.claim(session.id, origin.at) : 'none';
  if (claimed === 'busy') return undefined;
  await sessions.begin(origin, next, holds, session.id);
  if (claimed !== 'none') await refreshTokens.keep(next.sessionId, claimed.token);
  return { token: next.token, sessionId: next.sessionId, seconds: Math.ceil((expiresAt - origin.at) / 1000) };
}

/** The header that gives the browser a renewed session. */
export const renewedCookie = (cookies: CookieNames, { token, seconds }: RenewedSession): readonly [string, string] =>
  setCookie(cookies, cookies.session, token, seconds);

/**
 * Proves the session of a request: the session that takes its place carries the proof.
 * @param at when the user proved it, in milliseconds since 1970
 * @param holds whether the user, as the commit reads them, is still the one who proved it
 * @returns the headers that give the browser the session
 * @throws Refusal `sign_in_failed`, `invalid_session`; HttpRefusal `overloaded`; StoreUnavailable; Busy
 */
export async function proveSession(
  request: Renewing & { readonly cookies: CookieNames },
  services: Pick<PanelServices, 'sessions' | 'refreshTokens'>,
  proof: { readonly by: ProofWay; readonly at: number; readonly secondFactor?: SessionRecord['secondFactor'] },
  holds: (user: UserEntry) => boolean,
): Promise<readonly string[]> {
  const { by, at, secondFactor } = proof;
  const gained = { proof: { at, by }, ...(secondFactor && { secondFactor }) };
  const renewed = await renewSession(request, services, gained, holds);
  if (!renewed) throw new HttpRefusal('overloaded');
  const { cookies } = request;
  return [...renewedCookie(cookies, renewed), ...setCookie(cookies, cookies.flow, '', 0)];
}
