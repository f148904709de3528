import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { AuditRecord } from '../../../src/domain/records/audit-records.ts';
import { dayAfter } from '../../../src/domain/status-history/day-record.ts';
import type { Store } from '../../../src/store/port.ts';
import { dayAt, endOfDay } from '../../../src/time/utc-days.ts';
import { entriesOf } from '../service/accounts.ts';
import { digestOf } from './metering.ts';

/* The ledger as it must be, computed from the audit alone, which a customer who doubts a bill can read. */

interface Change {
  readonly accountId: string;
  /** The app; undefined where the account itself changed. */
  readonly appId: string | undefined;
  readonly at: number;
  readonly before: string;
  readonly after: string;
}

const AFTER: Readonly<Record<string, string>> = {
  'app.created': 'pending',
  'app.enrolled': 'active',
  'app.revoked': 'revoked',
  'app.deleted': 'none',
  'account.created': 'enabled',
};

/** Every status change of the audit, in the order in which the store took them. */
async function changesOf(store: Store): Promise<Change[]> {
  const entries = await entriesOf(store, KEYS.audit.under());
  const changes = entries
    .sort((a, b) => a.revision - b.revision)
    .map((entry) => changeOf(entry.key.split('/')[1] ?? '', parseRecord(KEYS.audit, entry).record));
  return changes.filter(({ before, after }) => after !== '' && before !== after);
}

function changeOf(accountId: string, { action, appId, at: askedAt, detail }: AuditRecord): Change {
  const at = typeof detail['countsAt'] === 'string' ? Date.parse(detail['countsAt']) : askedAt;
  const patched = detail['disabled'] === true ? 'disabled' : 'enabled';
  const after = action === 'account.changed' ? patched : (AFTER[action] ?? '');
  return { accountId, appId, at, before: String(detail['from'] ?? ''), after };
}

/**
 * Computes each night up to the given day, as `<accountId> <day>` → `<active> <digest>`.
 * @throws Error where an instant is before the one of the same app, or account, before it (M1)
 */
export async function auditedNights(store: Store, lastDay: string): Promise<Record<string, string>> {
  const changes = await changesOf(store);
  const newest = new Map<string, number>();
  for (const { accountId, appId, at, after } of changes) {
    const whose = appId ?? accountId;
    if (at < (newest.get(whose) ?? 0)) throw new Error(`${whose} became ${after} before it was what it was.`);
    newest.set(whose, at);
  }
  const nights: Record<string, string> = {};
  for (const { accountId, at, appId } of changes) {
    if (appId !== undefined || nights[`${accountId} ${dayAt(at)}`] !== undefined) continue;
    const own = changes.filter((change) => change.accountId === accountId);
    for (let day = dayAt(at); day <= lastDay; day = dayAfter(day)) nights[`${accountId} ${day}`] = nightOf(own, day);
  }
  return nights;
}

function nightOf(changes: readonly Change[], day: string): string {
  const then = new Map<string | undefined, string>();
  for (const { appId, at, after } of changes) if (at < endOfDay(day)) then.set(appId, after);
  const active = [...then].filter(([, status]) => status === 'active').map(([appId]) => appId ?? '');
  const counted = then.get(undefined) === 'disabled' ? [] : active;
  return `${counted.length} ${digestOf(counted)}`;
}
