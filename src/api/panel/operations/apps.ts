import { sharedAtOf } from '../../../domain/shared-credentials/shared-credentials.ts';
import { lastSeenAt, type AccountReader, type AppEntry } from '../../../domain/fleet/reader.ts';
import type { LastSeenBySlot } from '../../../domain/fleet/last-seen-codec.ts';
import { parseRecord, replaceable } from '../../../domain/records/codec.ts';
import { KEYS } from '../../../domain/records/keys.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { resourceNameOf } from '../../../domain/resource-bindings/adoption.ts';
import { reviewsOfApp } from '../../../domain/review-queue/review-counts.ts';
import { dateTime } from '../../../time/date-time.ts';
import * as operations from '../../contract/panel/apps.ts';
import { handle, type PanelServices } from '../request/route.ts';
import { accountOf } from './account.ts';

function appBody({ id, record }: AppEntry, seen: LastSeenBySlot, now: number): operations.PanelApp {
  const contact = lastSeenAt(record, seen);
  const { name, status, statusAt, platform, agentVersion, connection, createdAt, codes, managedBy } = record;
  return {
    appId: id,
    name,
    status,
    statusAt: dateTime(statusAt),
    platform,
    agentVersion,
    connection,
    createdAt: dateTime(createdAt),
    lastSeenAt: contact === null ? null : dateTime(contact),
    openCodes: codes.filter(({ expiresAt }) => expiresAt > now).length,
    ...(managedBy && { managedBy: resourceNameOf(managedBy) }),
  };
}

/** GET /panel/v1/accounts/{accountId}/apps. */
export const listPanelApps = handle(operations.listPanelApps)(async (request, { clock }) => {
  const account = await accountOf(request);
  const { record: seen } = await account.lastSeen();
  const apps = (await account.apps()).toSorted(
    (a, b) => b.record.createdAt - a.record.createdAt || (a.id < b.id ? -1 : 1),
  );
  const now = clock.now();
  return { status: 200, body: { apps: apps.map((app) => appBody(app, seen, now)) } };
});

/** GET /panel/v1/accounts/{accountId}/apps/{appId}. */
export const readPanelApp = handle(operations.readPanelApp)(async (request, services) => {
  const account = await accountOf(request);
  const app = await account.app(request.appId);
  if (!app) throw new Refusal('not_found');
  return { status: 200, body: await detailOf(account, app, services) };
});

async function detailOf(
  account: AccountReader,
  app: AppEntry,
  { store, clock }: PanelServices,
): Promise<operations.PanelAppDetail> {
  const now = clock.now();
  const { enrolledAt, codes } = app.record;
  return {
    ...appBody(app, (await account.lastSeen()).record, now),
    enrolledAt: enrolledAt === undefined ? null : dateTime(enrolledAt),
    codes: codes
      .filter(({ expiresAt }) => expiresAt > now)
      .map(({ issuedAt, expiresAt }) => ({ issuedAt: dateTime(issuedAt), expiresAt: dateTime(expiresAt) })),
    acknowledged: await acknowledgedBy(account, app.id, store),
    sharedAt: await sharedAtOfApp(account, app.id, store, now),
    reviews: await reviewsOfApp(store, account.id, app.id),
  };
}

async function sharedAtOfApp(
  account: AccountReader,
  appId: string,
  store: PanelServices['store'],
  now: number,
): Promise<string | null> {
  const key = KEYS.opampAgent(account.id, appId);
  const at = sharedAtOf(replaceable(KEYS.opampAgent, key, await store.get(key)).record ?? {}, now);
  return at === undefined ? null : dateTime(at);
}

async function acknowledgedBy(
  account: AccountReader,
  appId: string,
  store: PanelServices['store'],
): Promise<operations.PanelAppDetail['acknowledged']> {
  const entry = await store.get(KEYS.ack(account.id, appId));
  if (!entry) return null;
  const { revision, status, error, at } = parseRecord(KEYS.ack, entry).record;
  const current = revision === ((await account.otel())?.record.revision ?? 0);
  return { revision, current, status, ...(error !== undefined && { error }), at: dateTime(at) };
}
