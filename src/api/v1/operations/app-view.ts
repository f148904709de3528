import type { LastSeenBySlot } from '../../../domain/fleet/last-seen-codec.ts';
import { lastSeenAt, type AppEntry } from '../../../domain/fleet/reader.ts';
import { dateTime } from '../../../time/date-time.ts';

/** Section 2.1: the one place that spells an app's answer, as JSON. */
export const appJson = (app: AppEntry, seen: LastSeenBySlot): string => spelled(app, lastSeenAt(app.record, seen));

interface Spelled {
  readonly contact: number | null;
  readonly json: string;
}
const lastSpelled = new WeakMap<AppEntry, Spelled>();

/** As `appJson`, for an app that is asked for by itself: memory gives the same entry again until it has changed. */
export function keptAppJson(app: AppEntry, seen: LastSeenBySlot): string {
  const contact = lastSeenAt(app.record, seen);
  const last = lastSpelled.get(app);
  if (last?.contact === contact) return last.json;
  const json = spelled(app, contact);
  lastSpelled.set(app, { contact, json });
  return json;
}

function spelled({ id, record }: AppEntry, contact: number | null): string {
  return JSON.stringify({
    appId: id,
    name: record.name,
    status: record.status,
    platform: record.platform,
    agentVersion: record.agentVersion,
    lastSeenAt: contact === null ? null : dateTime(contact),
    createdAt: dateTime(record.createdAt),
  });
}
