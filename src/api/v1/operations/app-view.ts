import type { LastSeenBySlot } from '../../../domain/fleet/last-seen-codec.ts';
import { lastSeenAt, type AppEntry } from '../../../domain/fleet/reader.ts';
import { asJson, type Json } from '../../contract/answers.ts';
import type { App } from '../../contract/v1/apps.ts';
import { dateTime } from '../../../time/date-time.ts';

/** Section 2.1: an app as JSON. This is the only place that renders it. */
export const appJson = (app: AppEntry, seen: LastSeenBySlot): Json<App> => render(app, lastSeenAt(app.record, seen));

interface Rendered {
  readonly contact: number | null;
  readonly json: Json<App>;
}
const lastRendered = new WeakMap<AppEntry, Rendered>();

/**
 * As `appJson`, for an app that is read by itself: memory gives the same entry again until it has changed, so its JSON
 * is kept.
 */
export function cachedAppJson(app: AppEntry, seen: LastSeenBySlot): Json<App> {
  const contact = lastSeenAt(app.record, seen);
  const last = lastRendered.get(app);
  if (last?.contact === contact) return last.json;
  const json = render(app, contact);
  lastRendered.set(app, { contact, json });
  return json;
}

function render({ id, record }: AppEntry, contact: number | null): Json<App> {
  return asJson<App>({
    appId: id,
    name: record.name,
    status: record.status,
    platform: record.platform,
    agentVersion: record.agentVersion,
    lastSeenAt: contact === null ? null : dateTime(contact),
    createdAt: dateTime(record.createdAt),
  });
}
