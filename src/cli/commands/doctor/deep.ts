import type { AuditVerification } from '#client';
import { verifyAudit } from '../../../domain/audit/verify.ts';
import { lastBackupAt } from '../../../domain/backup/last-backup.ts';
import { OPERATOR_AUDIT } from '../../../domain/records/audit-records.ts';
import { parseRecord } from '../../../domain/records/codec.ts';
import { KEYS, kindOfKey } from '../../../domain/records/keys.ts';
import { HEAD_KEY, PAGE_ENTRIES_MAX, type Entry, type Store } from '../../../store/port.ts';
import { addressOf } from '../../connection/address.ts';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import { toldBy } from '../../connection/told.ts';
import { relativeTime } from '../../output/relative-time.ts';
import { wordsOf } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { CHECK_MS_MAX, finding, type Report } from './finding.ts';

/* `muster doctor --deep`: what takes as long as the store is large. */

/** As the alert MusterBackupOld. */
const BACKUP_WARN_MS = 26 * 3_600_000;
/** More would hide the other findings. */
const NAMED_MAX = 3;

/** Asks the running service: it verifies every audit, and tells of the last backup. */
export async function checkThroughService(call: Invocation, report: Report): Promise<void> {
  await checkAuditsOfService(call, report);
  const backup = finding('backup');
  try {
    const told = await toldBy(call, addressOf('ops', call), CHECK_MS_MAX);
    if (told?.lastBackupAt !== undefined) tellBackup(call, report, told.lastBackupAt || undefined);
    else report(backup.warn('the replica that was asked does not lead, and knows of no backup: see the leader'));
  } catch (error) {
    report(backup.warn(`it is not known when the last one was made: ${wordsOf(error)}`));
  }
}

async function checkAuditsOfService(call: Invocation, report: Report): Promise<void> {
  try {
    const operator = operatorOf(call);
    const found: AuditVerification[] = [];
    for await (const { accountId } of operator.accounts({ limit: PAGE_ENTRIES_MAX }, requestOf(call))) {
      found.push(await operator.verifyAudit(accountId, requestOf(call)));
    }
    tellStored(report, found, 'the service counts them anew');
    found.push(await operator.verifyServiceAudit(requestOf(call)));
    tellAudits(report, found);
  } catch (error) {
    report(finding('audit').fail(wordsOf(error)));
  }
}

/**
 * Reads every record of a store by its schema, and its last backup.
 * @param audits whether its audits are verified as well: where no service runs that is asked for it
 * @throws StoreUnavailable
 */
export async function checkThroughStore(
  call: Invocation,
  store: Store,
  { audits }: { readonly audits: boolean },
  report: Report,
): Promise<void> {
  const accounts = await checkRecords(store, report);
  if (!audits) return;
  try {
    tellBackup(call, report, await lastBackupAt(store));
  } catch (error) {
    report(finding('backup').fail(wordsOf(error)));
  }
  const found = [];
  for (const accountId of accounts) found.push(await verifyAudit(store, accountId, { ofAccount: true }));
  const counted = found.map(({ accountId, own }) => ({
    accountId,
    ownBytes: own.bytes,
    notedBytes: own.noted ?? null,
  }));
  tellStored(report, counted, 'start the service, and check again: it counts them anew');
  found.push(await verifyAudit(store, OPERATOR_AUDIT));
  tellAudits(report, found);
}

/** @returns the ids of the accounts */
async function checkRecords(store: Store, report: Report): Promise<ReadonlySet<string>> {
  const [bad, unknown]: [string[], string[]] = [[], []];
  const accounts = new Set<string>();
  let count = 0;
  for await (const entry of recordsOf(store)) {
    count += 1;
    const says = faultOf(entry);
    if (says === 'unknown') unknown.push(entry.key);
    else if (says !== undefined) bad.push(says);
    else addAccount(accounts, entry);
  }
  const records = finding('records');
  if (bad.length > 0) report(records.fail(`${bad.length} of ${count} are damaged: ${named(bad)} Restore a backup.`));
  if (unknown.length > 0) {
    report(records.warn(`${unknown.length} of ${count} are none of this version's: ${named(unknown)}`));
  }
  if (bad.length === 0) report(records.ok(`${count - unknown.length} have the shape that this version gives them`));
  return accounts;
}

async function* recordsOf(store: Store): AsyncGenerator<Entry, void> {
  for (let after: string | undefined; ;) {
    const page = await store.list({ prefix: '', limit: PAGE_ENTRIES_MAX, after });
    yield* page.entries.filter(({ key }) => key !== HEAD_KEY);
    if (page.next === undefined) return;
    after = page.next;
  }
}

function faultOf(entry: Entry): string | undefined {
  const kind = kindOfKey(entry.key);
  if (!kind) return 'unknown';
  try {
    parseRecord(kind, entry);
    return undefined;
  } catch (error) {
    return wordsOf(error);
  }
}

function addAccount(accounts: Set<string>, entry: Entry): void {
  const accountId = entry.key.startsWith(KEYS.account.under()) ? entry.key.slice(KEYS.account.under().length) : '/';
  if (!accountId.includes('/')) accounts.add(accountId);
}

const named = (all: readonly string[]): string =>
  [...all.slice(0, NAMED_MAX), ...(all.length > NAMED_MAX ? [`and ${all.length - NAMED_MAX} more.`] : [])].join(' ');

function tellBackup({ clock }: Invocation, report: Report, at: number | undefined): void {
  const backup = finding('backup');
  if (at === undefined) return report(backup.warn('none was ever made: muster backup create FILE'));
  const now = clock.now();
  const says = `the last one is of ${new Date(at).toISOString()} (${relativeTime(at, now)})`;
  report(now - at > BACKUP_WARN_MS ? backup.warn(`${says}: see why there is no newer one`) : backup.ok(says));
}

/** A16: the quota goes by what is noted. An account that is not counted yet is none of these. */
function tellStored(
  report: Report,
  found: readonly Pick<AuditVerification, 'accountId' | 'ownBytes' | 'notedBytes'>[],
  mend: string,
): void {
  const quota = finding('quota');
  const wrong = found.filter(({ ownBytes, notedBytes }) => notedBytes !== null && notedBytes !== ownBytes);
  if (wrong.length === 0) return report(quota.ok(`the audits of ${found.length} accounts are as large as was noted`));
  const ids = wrong.map(({ accountId }) => accountId);
  report(quota.warn(`${wrong.length} audits are not as large as was noted: ${named(ids)}; ${mend}`));
}

function tellAudits(report: Report, found: readonly Pick<AuditVerification, 'accountId' | 'faultCount'>[]): void {
  const audit = finding('audit');
  const bad = found.filter(({ faultCount }) => faultCount > 0).map(({ accountId }) => accountId);
  if (bad.length === 0) return report(audit.ok(`${found.length} audits are as they were sealed`));
  report(audit.fail(`${bad.length} of ${found.length} were tampered with: ${named(bad)}; see: muster audit verify`));
}
