import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { AuditRecord } from '../../../src/domain/records/audit-records.ts';
import { type Entry, PAGE_ENTRIES_MAX, type Store } from '../../../src/store/port.ts';

/** All entries under the prefix, whatever their number. */
export async function entriesOf(store: Store, prefix: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  let after: string | undefined;
  do {
    const page = await store.list({ prefix, limit: PAGE_ENTRIES_MAX, after });
    entries.push(...page.entries);
    after = page.next;
  } while (after !== undefined);
  return entries;
}

export async function auditsOf(store: Store, accountId: string): Promise<AuditRecord[]> {
  const entries = await entriesOf(store, KEYS.audit.under(accountId));
  return entries.map((entry) => parseRecord(KEYS.audit, entry).record);
}

/**
 * The half-written records of an account, in words; empty when there are none: the counters agree with the apps, every
 * app has one entry of its creation, and every credential that works can be found.
 */
export async function halfWritten(store: Store, accountId: string): Promise<string[]> {
  const faults: string[] = [];
  const apps = await entriesOf(store, KEYS.app.under(accountId));
  const audits = await auditsOf(store, accountId);
  const counters = await store.get(KEYS.counters(accountId));
  const counted = counters ? parseRecord(KEYS.counters, counters).record.apps : 0;
  if (counted !== apps.length) faults.push(`the counters have ${counted} apps of ${apps.length}`);
  const slots = new Set<number>();
  for (const entry of apps) {
    const appId = entry.key.slice(KEYS.app.under(accountId).length);
    const { record } = parseRecord(KEYS.app, entry);
    const times = (action: string): number =>
      audits.filter((audit) => audit.action === action && audit.appId === appId).length;
    if (times('app.created') !== 1) faults.push(`${appId} has ${times('app.created')} entries of its creation`);
    if (slots.has(record.slot)) faults.push(`${appId} shares the slot ${record.slot}`);
    slots.add(record.slot);
    if ((record.enrolledAt === undefined) !== (times('app.enrolled') === 0)) faults.push(`${appId}: enrolled, or not?`);
    if (record.status === 'revoked' && times('app.revoked') === 0) faults.push(`${appId} was revoked without a trace`);
    if ((record.status === 'active') !== (record.credential !== undefined)) faults.push(`${appId}: active, or not?`);
    if (record.credential === undefined) continue;
    const locator = await store.get(KEYS.credential(record.credential));
    const found = locator && parseRecord(KEYS.credential, locator).record;
    if (found?.appId !== appId || found.accountId !== accountId)
      faults.push(`${appId}: its credential leads elsewhere`);
  }
  return faults;
}
