import { PAGE_ENTRIES_MAX, type Entry, type Store } from '../../store/port.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { instantOf, OPERATOR_AUDIT } from '../records/audit-records.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { auditSchema, type AuditRecord } from '../records/records.ts';
import { Refusal } from '../refusal.ts';

/** Which entries of an audit are asked for. Instants are milliseconds since 1970. */
export interface AuditQuestion {
  readonly limit: number;
  /** Begins before this entry: the `next` of the page before. */
  readonly before?: string | undefined;
  readonly actor?: string | undefined;
  /** One action, or those that begin so where it ends in a dot. */
  readonly action?: string | undefined;
  readonly appId?: string | undefined;
  readonly from?: number | undefined;
  /** Exclusive. */
  readonly to?: number | undefined;
}

/** A page of an audit, newest first; `next` is there when older entries may follow. */
export interface NewestEntries {
  readonly items: readonly AuditRecord[];
  readonly next: string | undefined;
}

/** Reads audits from the newest entry on. */
export interface NewestAudit {
  /**
   * Lists entries, newest first. A page may be shorter than asked for, and have a next one all the same, since the
   * entries that one request reads are bounded.
   * @throws Refusal `not_found` where the account does not exist; StoreUnavailable; BadRecord
   */
  list(accountId: string, question: AuditQuestion): Promise<NewestEntries>;
}

/** Entries that one request reads at most, and reads of the store. */
const SCANNED_MAX = 5000;
const READS_MAX = 40;
/** The stretch of time that is read first; it grows and shrinks with how many entries it has. */
const FIRST_STRETCH_MS = HOUR_MS;

/** Creates the reader; see `NewestAudit`. */
export function createNewestAudit(deps: { readonly store: Store; readonly fleet: Fleet }): NewestAudit {
  return {
    async list(accountId, question) {
      if (accountId !== OPERATOR_AUDIT && !(await (await deps.fleet.current()).account(accountId))) {
        throw new Refusal('not_found');
      }
      return await newest(deps.store, KEYS.audits(accountId), question);
    },
  };
}

/** The first part of a key of the audit that is not before an instant. */
const placeOf = (at: number): string => Math.max(0, Math.floor(at)).toString(36).padStart(9, '0');

/**
 * The store lists in the order of keys, which begin with an instant. So it is read stretch by stretch, back in time: a
 * stretch that has more entries than a page is read again by its later half.
 */
async function newest(store: Store, prefix: string, question: AuditQuestion): Promise<NewestEntries> {
  const oldest = await firstKey(store, prefix);
  if (oldest === undefined) return { items: [], next: undefined };
  const { limit, before, to, from } = question;
  const bottom = Math.max(instantOf(oldest.slice(prefix.length)) || 0, from ?? 0);
  // Clocks of replicas may be ahead of this one: the newest key itself says where the end is.
  let end = before ?? placeOf(Math.min(to ?? Number.MAX_SAFE_INTEGER, END_OF_TIME));
  let endMs = before === undefined ? await newestInstant(store, prefix, bottom, to) : instantOf(before);
  let stretch = FIRST_STRETCH_MS;
  const items: AuditRecord[] = [];
  let [scanned, reads] = [0, 0];
  while (endMs >= bottom) {
    if (scanned >= SCANNED_MAX || reads >= READS_MAX) return { items, next: end.includes('-') ? end : `${end}-0` };
    const begin = Math.max(bottom, endMs - stretch);
    const { entries, whole } = await between(store, prefix, placeOf(begin), end);
    reads += 1;
    if (!whole && stretch > 1) {
      stretch = Math.max(1, Math.floor((endMs - begin) / 2));
      continue;
    }
    scanned += entries.length;
    for (const entry of entries.toReversed()) {
      const { record } = parseRecord(auditSchema, entry);
      if (isAsked(record, question)) items.push(record);
      if (items.length === limit) return { items, next: entry.key.slice(prefix.length) };
    }
    if (begin === bottom) break;
    end = placeOf(begin);
    endMs = begin - 1;
    if (entries.length < PAGE_ENTRIES_MAX / 4) stretch *= 4;
  }
  return { items, next: undefined };
}

/** The greatest instant that a key can tell. */
const END_OF_TIME = 36 ** 9 - 1;

async function firstKey(store: Store, prefix: string): Promise<string | undefined> {
  const { entries } = await store.list({ prefix, limit: 1, keysOnly: true });
  return entries[0]?.key;
}

/**
 * An instant at or after that of the newest entry, by halving: the store tells whether anything follows a place. At
 * most some 20 tiny reads for years of audit; none of them more than one key.
 */
async function newestInstant(store: Store, prefix: string, bottom: number, to: number | undefined): Promise<number> {
  let [low, step] = [bottom, HOUR_MS];
  const hasAfter = async (at: number): Promise<boolean> => {
    const page = await store.list({ prefix, after: prefix + placeOf(at), limit: 1, keysOnly: true });
    return page.entries.length > 0;
  };
  while (low + step < END_OF_TIME && (await hasAfter(low + step))) {
    low += step;
    step *= 8;
  }
  while (step > HOUR_MS) {
    step = Math.max(HOUR_MS, Math.floor(step / 2));
    if (await hasAfter(low + step)) low += step;
  }
  const found = low + 2 * HOUR_MS;
  return to === undefined ? found : Math.min(found, to - 1);
}

/** The entries from one place on and before another, oldest first; `whole` is false where one page does not hold them. */
async function between(
  store: Store,
  prefix: string,
  begin: string,
  end: string,
): Promise<{ readonly entries: readonly Entry[]; readonly whole: boolean }> {
  const page = await store.list({ prefix, after: prefix + begin, limit: PAGE_ENTRIES_MAX });
  const entries = page.entries.filter(({ key }) => key.slice(prefix.length) < end);
  return { entries, whole: page.next === undefined || entries.length < page.entries.length };
}

function isAsked(record: AuditRecord, { actor, action, appId, from, to }: AuditQuestion): boolean {
  if (actor !== undefined && record.actor !== actor) return false;
  if (appId !== undefined && record.appId !== appId) return false;
  if (from !== undefined && record.at < from) return false;
  if (to !== undefined && record.at >= to) return false;
  if (action === undefined) return true;
  return action.endsWith('.') ? record.action.startsWith(action) : record.action === action;
}
