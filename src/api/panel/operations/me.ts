import { LIMITS } from '../../../domain/limits.ts';
import { lacksSecondFactor } from '../../../domain/sessions/proof.ts';
import type { ListedSession, SignedIn } from '../../../domain/sessions/sessions.ts';
import { accountRight, installationRight } from '../../../domain/users/roles.ts';
import { dateTime } from '../../../time/date-time.ts';
import * as operations from '../../contract/panel/me.ts';
import { setCookie } from '../request/cookies.ts';
import { renewedCookie, renewSession } from '../request/renew-session.ts';
import { handleInSession, type PanelServices } from '../request/route.ts';

async function bodyOf(signedIn: SignedIn, { fleet, panel, openTo }: PanelServices): Promise<operations.Me> {
  const { user, session, reader } = signedIn;
  const { name, login, password, passkeys, identities, mapped } = user.record;
  const { createdAt, expiresAt, method, signedInAt = createdAt } = session.record;
  const memory = await fleet.whole();
  const ids = new Set((mapped?.accounts ?? []).map(({ accountId }) => accountId));
  for (const { id } of memory.accountsOfMember(user.id)) ids.add(id);
  const accounts: operations.Me['accounts'] = [];
  for (const accountId of ids) {
    const account = memory.account(accountId);
    const right = account && (await accountRight(memory, user, account));
    if (!account || !right) continue;
    const { name, entitlement, disabled } = account.record;
    accounts.push({ accountId, name, role: right.role, entitlement, disabled });
  }
  accounts.sort((a, b) => (a.name === b.name ? (a.accountId < b.accountId ? -1 : 1) : a.name < b.name ? -1 : 1));
  const { installationRole: role = 'none' } = (await installationRight(reader, user)) ?? {};
  const open = role === 'operator' || role === 'none' ? [] : openTo(role);
  return {
    userId: user.id,
    name,
    login,
    operator: role === 'operator',
    role,
    open: open.map(({ operation, only }) => ({ operation, ...(only && { only: [...only] }) })),
    accounts,
    methods: { password: password !== undefined, passkeys: passkeys.length, provider: identities.length > 0 },
    additions: (user.record.additions ?? []).map(({ kind, at, name: of, client }) => ({
      kind,
      at: dateTime(at),
      name: of,
      client,
    })),
    session: {
      sessionId: session.id,
      createdAt: dateTime(signedInAt),
      expiresAt: dateTime(expiresAt),
      method,
      secondFactorRequired: await lacksSecondFactor(signedIn, panel.secondFactor),
    },
  };
}

/** GET /panel/v1/me. A session that is older than the last change of its user's roles gets another token. */
export const readMe = handleInSession(operations.readMe)(async (request, services) => {
  const { signedIn, cookies, isUse } = request;
  const { user, session } = signedIn;
  const body = await bodyOf(signedIn, services);
  // A new session is not idle: a page that is left open gets none.
  if (!isUse || (user.record.rolesAt ?? 0) <= session.record.createdAt) return { status: 200, body };
  const renewed = await renewSession(request, services);
  if (!renewed) return { status: 200, body };
  const { sessionId } = renewed;
  const headers = renewedCookie(cookies, renewed);
  return { status: 200, headers, body: { ...body, session: { ...body.session, sessionId } } };
});

/** PATCH /panel/v1/me. */
export const changeMe = handleInSession(operations.changeMe)(async (request, services) => {
  const { origin, signedIn, body } = request;
  await services.users.change(origin, signedIn.user.id, { name: body.name });
  const reader = await services.fleet.current();
  const user = (await reader.user(signedIn.user.id)) ?? signedIn.user;
  return { status: 200, body: await bodyOf({ ...signedIn, reader, user }, services) };
});

/** POST /panel/v1/sign-out. */
export const signOut = handleInSession(operations.signOut, { deadlineMs: LIMITS.providerDeadlineMs })(async (
  { origin, signedIn, cookies, inTime },
  { sessions, provider },
) => {
  const { user, session } = signedIn;
  await inTime(sessions.end(origin, user.id, session.id));
  const isOfProvider = session.record.method === 'provider';
  // A user is signed out here all the same where the provider is away.
  const providerUrl = isOfProvider ? await provider?.client.endSessionUrl().catch(() => undefined) : undefined;
  const headers = setCookie(cookies, cookies.session, '', 0);
  return { status: 200, headers, body: providerUrl === undefined ? {} : { providerUrl } };
});

/** The body of a list of sessions. @param current the id of the session that asks */
export const sessionBodies = (sessions: readonly ListedSession[], current: string): operations.OwnSession[] =>
  sessions.slice(0, LIMITS.sessionsPerUserMax * 2).map((session) => ({
    sessionId: session.sessionId,
    createdAt: dateTime(session.createdAt),
    lastUsedAt: dateTime(session.lastUsedAt),
    expiresAt: dateTime(session.expiresAt),
    method: session.method,
    browser: session.browser,
    current: session.sessionId === current,
  }));

/** GET /panel/v1/me/refused-sign-ins. */
export const listRefusedSignIns = handleInSession(operations.listRefusedSignIns)(
  async ({ signedIn }, { refusedSignIns }) => ({
    status: 200,
    body: {
      refused: (await refusedSignIns(signedIn.user.id)).map(({ at, count, clients, ways }) => ({
        at: dateTime(at),
        count,
        clients,
        ways,
      })),
    },
  }),
);

/** GET /panel/v1/me/sessions. */
export const listMySessions = handleInSession(operations.listMySessions)(async ({ signedIn }, { sessions }) => ({
  status: 200,
  body: { sessions: sessionBodies(await sessions.list(signedIn.user.id), signedIn.session.id) },
}));

/** DELETE /panel/v1/me/sessions/{sessionId}. */
export const endMySession = handleInSession(operations.endMySession)(async (request, { sessions }) => {
  await sessions.end(request.origin, request.signedIn.user.id, request.sessionId);
  return { status: 204 };
});
