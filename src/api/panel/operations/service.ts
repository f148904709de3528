import type { FleetMemory } from '../../../domain/fleet/memory.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { dateTime } from '../../../time/date-time.ts';
import { VERSION } from '../../../version.ts';
import * as operations from '../../contract/panel/operator.ts';
import { handle, handleInSession } from '../request/route.ts';
import { sessionBodies } from './me.ts';

const instantOrNull = (at: number | undefined): string | null => (at === undefined ? null : dateTime(at));

/** GET /panel/v1/service. */
export const readServiceState = handle(operations.readServiceState, { deadlineMs: LIMITS.usageDeadlineMs })(async (
  { inTime },
  { serviceState },
) => {
  const { replicas, leaderSince, nights, purges, lastBackupAt, fullness, ...rest } = await serviceState(inTime);
  const body: operations.ServiceState = {
    version: VERSION,
    ...rest,
    fullness: Number.isNaN(fullness) ? null : fullness,
    replicas: replicas.map(({ startedAt, clockSkewMs = null, ...replica }) => ({
      ...replica,
      startedAt: dateTime(startedAt),
      clockSkewMs,
    })),
    leaderSince: instantOrNull(leaderSince),
    nights: { ...nights, meteredThrough: nights.meteredThrough ?? null, days: [...nights.days] },
    purges: { waiting: purges.waiting, oldestAt: instantOrNull(purges.oldestAt) },
    lastBackupAt: instantOrNull(lastBackupAt),
  };
  return { status: 200, body };
});

/** GET /panel/v1/users/{userId}/sessions. */
export const listUserSessions = handleInSession(operations.listUserSessions)(async (
  { userId, signedIn },
  { users, sessions },
) => {
  await users.read(userId);
  return { status: 200, body: { sessions: sessionBodies(await sessions.list(userId), signedIn.session.id) } };
});

/** DELETE /panel/v1/users/{userId}/sessions/{sessionId}. */
export const endUserSession = handle(operations.endUserSession)(async ({ origin, userId, sessionId }, { sessions }) => {
  await sessions.end(origin, userId, sessionId);
  return { status: 204 };
});

const FOUND_MAX = 20;

/** GET /panel/v1/find. */
export const findAccounts = handle(operations.findAccounts)(async ({ query: { text } }, { fleet }) => {
  const memory = await fleet.whole();
  const [app, user] = [memory.appById(text), memory.user(text)];
  const body: operations.Found = {
    accounts: accountsFound(memory, text),
    app: app ? { accountId: app.account.id, appId: app.app.id, name: app.app.record.name } : null,
    user: user ? { userId: text, name: user.record.name } : null,
  };
  return { status: 200, body };
});

function accountsFound(memory: FleetMemory, text: string): operations.Found['accounts'] {
  const found: { accountId: string; name: string }[] = [];
  const ofKey = memory.accountOfKey(text)?.account.id;
  for (const { id, record } of memory.accounts()) {
    const isFound = id === text || id === ofKey || record.name.toLowerCase().includes(text);
    if (isFound) found.push({ accountId: id, name: record.name });
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, FOUND_MAX);
}
