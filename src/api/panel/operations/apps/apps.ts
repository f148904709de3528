import { sharedAtOf } from '../../../../domain/shared-credentials/shared-credentials.ts';
import { lastSeenAt, type AccountReader, type AppEntry } from '../../../../domain/fleet/reader.ts';
import { parseRecord, replaceable } from '../../../../domain/records/codec.ts';
import { KEYS } from '../../../../domain/records/keys.ts';
import { Refusal } from '../../../../domain/refusal.ts';
import { reviewsOfApp } from '../../../../domain/review-queue/review-counts.ts';
import { dateTime } from '../../../../time/date-time.ts';
import * as operations from '../../../contract/panel/apps/apps.ts';
import { handle, type PanelServices } from '../../request/route.ts';
import { accountOf } from '../account.ts';
import { listedApp } from './app-list.ts';

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
  const { enrolledAt, statusAt, codes } = app.record;
  const contact = lastSeenAt(app.record, (await account.lastSeen()).record);
  return {
    ...listedApp(app),
    statusAt: dateTime(statusAt),
    lastSeenAt: contact === null ? null : dateTime(contact),
    openCodes: codes.filter(({ expiresAt }) => expiresAt > now).length,
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
