import type { Put } from '../../store/port.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { namesRead } from '../audit/names.ts';
import type { RandomSource } from '../credentials/random-ids.ts';
import type { AppEntry, FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { auditEntry } from '../mutation/commit.ts';
import type { Origin } from '../mutation/step.ts';
import type { ReviewIndex } from '../records/review-records.ts';

/** The new critical events of a report. */
export interface CriticalEvents {
  readonly count: number;
  /** The rule of the first one. */
  readonly rule: string;
}

/** Tells whether the audit tells of critical events now, and what the index keeps of that. */
interface Telling {
  readonly critical: NonNullable<ReviewIndex['critical']>;
  /** The events that the entry counts; undefined where it is left to a later one. */
  readonly count: number | undefined;
}

/**
 * A report with critical events is an entry of the audit, as far as the app has not had its entries of the hour: a
 * daemon gone wild must not fill the audit. The next entry then counts its events as well.
 */
export function tellingOf({ critical }: Pick<ReviewIndex, 'critical'>, { count }: CriticalEvents, at: number): Telling {
  const hour = Math.floor(at / HOUR_MS);
  const told = critical?.hour === hour ? critical.told : 0;
  const all = count + (critical?.more ?? 0);
  if (told >= LIMITS.criticalToldPerHour) return { critical: { hour, told, more: all }, count: undefined };
  return { critical: { hour, told: told + 1, more: 0 }, count: all };
}

/** The entry of the audit: it has nothing of the evidence. */
export async function criticalEntry(
  { random, reader }: { readonly random: RandomSource; readonly reader: FleetReader },
  { accountId, id: appId }: AppEntry,
  origin: Origin,
  detail: { readonly count: number; readonly rule: string },
): Promise<Put> {
  const step = { accountId, appId, action: 'detection.critical', detail } as const;
  return await auditEntry(random, origin, step, origin.at, namesRead(reader));
}
