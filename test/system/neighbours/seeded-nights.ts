import { createHash } from 'node:crypto';
import { newApp } from '../../../src/domain/apps/app-state.ts';
import {
  generateAccountId,
  generateAppId,
  generateMarker,
  systemRandom,
} from '../../../src/domain/credentials/random-ids.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { AuditRecord } from '../../../src/domain/records/audit-records.ts';
import { daysBefore } from '../../../src/domain/status-history/day-record.ts';
import type { Store, Write } from '../../../src/store/port.ts';
import { startOfDay } from '../../../src/time/utc-days.ts';
import { whole, type Random } from '../../chaos/random.ts';
import { write } from '../../support/metering/metering.ts';

const ACCOUNTS = 24;
const APPS_EACH = 6;
const HOUR_MS = 3_600_000;

interface Event {
  readonly at: number;
  readonly accountId: string;
  readonly entry: Pick<AuditRecord, 'action' | 'appId' | 'detail'>;
}

/**
 * Writes a store whose last nights have not been metered: accounts whose daemons came and went meanwhile, as a Muster
 * that was down before each midnight was due would have left them, with the audit that explains them.
 * @param today the day on which all of it ends, and which is not over
 * @returns the last day that is metered
 */
export async function seedMissedNights(store: Store, random: Random, today: string, nights: number): Promise<string> {
  const through = daysBefore(today, nights + 1);
  const events: Event[] = [];
  const writes: Write[] = [
    put(KEYS.day(), { day: today, since: daysBefore(through, 3) }),
    put(KEYS.metered(), { through }),
  ];
  const days = { first: daysBefore(through, 2), count: nights + 2 };
  for (let n = 0; n < ACCOUNTS; n += 1) writes.push(...accountWrites(random, days, n % 6 === 5, events));
  // The entries are put in the order of their instants, as a service would have written them.
  const systemSource = systemRandom();
  const audits = events
    .sort((a, b) => a.at - b.at)
    .map(({ at, accountId, entry }, n) =>
      put(KEYS.audit(accountId, at, generateMarker(systemSource)), {
        at,
        actor: 'operator',
        requestId: `missed-${n}`,
        ...entry,
      }),
    );
  await write(store, [...writes, ...audits]);
  return through;
}

interface Days {
  readonly first: string;
  readonly count: number;
}

function accountWrites(random: Random, days: Days, isDisabledLater: boolean, events: Event[]): Write[] {
  const accountId = generateAccountId(systemRandom());
  const createdAt = startOfDay(days.first) + whole(random, HOUR_MS);
  events.push({ at: createdAt, accountId, entry: { action: 'account.created', detail: {} } });
  const writes: Write[] = [];
  let apps = 0;
  for (let slot = 0; slot < APPS_EACH; slot += 1) {
    const { stored, all } = appWrites(random, days, { accountId, slot }, events);
    writes.push(...all);
    if (stored) apps += 1;
  }
  if (isDisabledLater) {
    const { day, at } = instantOn(random, days, 3 + whole(random, days.count - 3));
    writes.push(put(KEYS.accountStatusChange(day, accountId), { before: false, after: true, at }));
    events.push({ at, accountId, entry: { action: 'account.changed', detail: { disabled: true } } });
  }
  return [
    put(KEYS.account(accountId), {
      name: 'missed',
      entitlement: 'standard',
      disabled: isDisabledLater,
      createdAt,
    }),
    put(KEYS.counters(accountId), { apps, nextSlot: APPS_EACH, idempotencyNext: 0 }),
    ...writes,
  ];
}

function instantOn(random: Random, { first }: Days, offset: number): { day: string; at: number } {
  const day = daysBefore(first, -offset);
  return { day, at: startOfDay(day) + 2 * HOUR_MS + whole(random, 20 * HOUR_MS) };
}

/**
 * Created, and enrolled; of three one stays, one is revoked, and one is deleted, each on a later day than it enrolled.
 */
function appWrites(
  random: Random,
  days: Days,
  { accountId, slot }: { accountId: string; slot: number },
  events: Event[],
): { stored: boolean; all: Write[] } {
  const appId = generateAppId(systemRandom());
  const createdAt = startOfDay(days.first) + HOUR_MS + slot;
  const enrolledOn = 1 + whole(random, days.count - 3);
  const enrolled = instantOn(random, days, enrolledOn);
  const endedOn = enrolledOn + 1 + whole(random, days.count - enrolledOn - 1);
  const ended = instantOn(random, days, endedOn);
  const end = (['stays', 'revoked', 'deleted'] as const)[slot % 3] ?? 'stays';
  events.push(
    { at: createdAt, accountId, entry: { action: 'app.created', appId, detail: {} } },
    { at: enrolled.at, accountId, entry: { action: 'app.enrolled', appId, detail: { from: 'pending' } } },
  );
  const all: Write[] = [
    put(KEYS.statusChange(enrolled.day, accountId, appId), { before: 'pending', after: 'active', at: enrolled.at }),
  ];
  if (end !== 'stays') {
    const after = end === 'revoked' ? 'revoked' : 'none';
    all.push(put(KEYS.statusChange(ended.day, accountId, appId), { before: 'active', after, at: ended.at }));
    events.push({ at: ended.at, accountId, entry: { action: `app.${end}`, appId, detail: { from: 'active' } } });
  }
  if (end === 'deleted') return { stored: false, all };
  const credential = createHash('sha256').update(appId).digest('base64url');
  const record = { ...newApp('missed', slot, createdAt), enrolledAt: enrolled.at };
  all.push(
    put(KEYS.credential(credential), { accountId, appId }),
    put(
      KEYS.app(accountId, appId),
      end === 'revoked'
        ? { ...record, status: 'revoked', statusAt: ended.at }
        : { ...record, status: 'active', statusAt: enrolled.at, credential },
    ),
  );
  return { stored: true, all };
}
