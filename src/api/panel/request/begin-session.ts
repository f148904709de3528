import type { UserEntry } from '../../../domain/fleet/reader.ts';
import { LIMITS } from '../../../domain/limits.ts';
import type { SessionRecord } from '../../../domain/records/user-records.ts';
import { setCookie } from './cookies.ts';
import type { OpenRequest, PanelServices } from './route.ts';

const MARKS = new RegExp(`^[0-9A-Za-z]{43}(?:\\.[0-9A-Za-z]{43}){0,${LIMITS.usersPerBrowserMax - 1}}$`);

/** The marks of the request's browser: users have signed in from it before. */
export function browserMarks({ cookie, cookies }: Pick<OpenRequest<unknown>, 'cookie' | 'cookies'>): readonly string[] {
  const marks = cookie(cookies.browser) ?? '';
  return MARKS.test(marks) ? marks.split('.') : [];
}

/**
 * Begins a session in the request's browser, in the place of one that it had.
 * @param holds whether the user, as the commit reads him, is still the one who was let in
 * @param begun is called with the id of the session, once it has begun
 * @returns the headers that give the browser the session, and forget the sign-in that was under way
 * @throws Refusal `sign_in_failed`; StoreUnavailable; Busy
 */
export async function beginSession(
  request: OpenRequest<unknown>,
  { sessions, signIns, fleet }: PanelServices,
  session: Pick<SessionRecord, 'userId' | 'method' | 'identity' | 'proof' | 'secondFactor'>,
  holds: (user: UserEntry) => boolean,
  begun: (sessionId: string) => Promise<void> = async () => undefined,
): Promise<readonly string[]> {
  const { cookies, browser } = request;
  const origin = request.originOf(`user:${session.userId}`);
  const marks = browserMarks(request);
  const known = await (await fleet.current()).user(session.userId);
  const isKnown = await signIns.browsers.knows(known, marks);
  const drawn = sessions.draw({ ...session, browser, signedInAt: origin.at }, origin.at);
  const before = await request.optionalSession();
  const user = await sessions.begin(origin, drawn, holds, before?.session.id, !isKnown);
  await begun(drawn.sessionId);
  const kept = await signIns.browsers.signedIn(user, marks);
  return [
    ...setCookie(cookies, cookies.session, drawn.token, Math.floor((drawn.record.expiresAt - origin.at) / 1000)),
    ...setCookie(cookies, cookies.browser, kept.join('.'), Math.floor(LIMITS.knownBrowserMs / 1000)),
    ...setCookie(cookies, cookies.flow, '', 0),
  ];
}
