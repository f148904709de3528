import type { UserEntry } from '../../../domain/fleet/reader.ts';
import type { SessionRecord } from '../../../domain/records/user-records.ts';
import { generateSecretWord } from '../../../domain/credentials/random-ids.ts';
import { setCookie } from './cookies.ts';
import type { OpenRequest, PanelServices } from './route.ts';

const BROWSER_SECONDS = 365 * 86_400;
const MARK = /^[0-9A-Za-z]{43}$/;

/** The mark of the request's browser: somebody has signed in from it before. */
export function browserMark({ cookie, cookies }: Pick<OpenRequest<unknown>, 'cookie' | 'cookies'>): string | undefined {
  const mark = cookie(cookies.browser);
  return mark !== undefined && MARK.test(mark) ? mark : undefined;
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
  { sessions, signIns, random }: PanelServices,
  session: Pick<SessionRecord, 'userId' | 'method' | 'identity' | 'proof' | 'secondFactor'>,
  holds: (user: UserEntry) => boolean,
  begun: (sessionId: string) => Promise<void> = async () => undefined,
): Promise<readonly string[]> {
  const { cookies, browser } = request;
  const origin = request.originOf(`user:${session.userId}`);
  const known = browserMark(request);
  const previousAt = await signIns.lastSignIn(session.userId, known);
  const times = { signedInAt: origin.at, ...(previousAt !== undefined && { previousAt }) };
  const drawn = sessions.draw({ ...session, browser, ...times }, origin.at);
  const before = await request.optionalSession();
  const user = await sessions.begin(origin, drawn, holds, before?.session.id, previousAt === undefined);
  await begun(drawn.sessionId);
  const mark = known ?? generateSecretWord(random);
  await signIns.succeeded(user, mark);
  return [
    ...setCookie(cookies, cookies.session, drawn.token, Math.floor((drawn.record.expiresAt - origin.at) / 1000)),
    ...setCookie(cookies, cookies.browser, mark, BROWSER_SECONDS),
    ...setCookie(cookies, cookies.flow, '', 0),
  ];
}
