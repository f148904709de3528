import { lastSeenAt, type AppEntry } from '../../domain/fleet-reader.ts';
import type { SeenBySlot } from '../../domain/seen-codec.ts';
import { dateTime } from '../date-time.ts';

/** Section 2.1: the one place that spells an app's answer, as JSON. */
export function appJson({ id, record }: AppEntry, seen: SeenBySlot): string {
  const contact = lastSeenAt(record, seen);
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
